import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import { Code, Exception, tooLarge } from './exception.ts'
import type { MemoryShare } from './memory-budget.ts'

/** A body of type `multipart/form-data`. */
export interface Form {
  /** In order; names may repeat. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** Parts with a file name. */
  readonly files: readonly FormFile[]
}

export interface FormFile {
  readonly name: string
  readonly bytes: Buffer
}

/** Like ClickHouse's `http_max_fields` and `http_max_field_name_size`, with a lower limit for files. */
const FIELDS_MAX = 1_000
const FILES_MAX = 100
const NAME_BYTES_MAX = 4_096
const HEADER_BYTES_MAX = 16_384

/** ClickHouse's name for a file part without one. */
const NAMELESS = '_data'

export function isForm(headers: IncomingHttpHeaders): boolean {
  return /^\s*multipart\/form-data\b/i.test(headers['content-type'] ?? '')
}

/**
 * @param chunks the decoded body
 * @param bytesMax limit of the body
 * @param memory accounts for the form's contents
 * @throws Exception when it is malformed or too large
 */
export async function readForm(
  chunks: AsyncIterable<Buffer>,
  headers: IncomingHttpHeaders,
  bytesMax: number,
  memory: MemoryShare,
): Promise<Form> {
  const fields: [string, string][] = []
  const files: { name: string; chunks: Buffer[] }[] = []
  const parser = parserOf(headers, bytesMax)
  parser.on('field', (name, value, isNameCut, isValueCut) => {
    if (isNameCut || isValueCut) parser.destroy(refusal('a field with a name of more than 4096 bytes'))
    else fields.push([name ?? '', value])
  })
  parser.on('file', (name, stream) => {
    const file = { name: name || NAMELESS, chunks: [] as Buffer[] }
    files.push(file)
    stream.on('data', (chunk: Buffer) => file.chunks.push(chunk))
    // The parser's own error is the one to report.
    stream.on('error', () => {})
  })
  parser.on('fieldsLimit', () => parser.destroy(refusal(`more than ${FIELDS_MAX} fields`)))
  parser.on('filesLimit', () => parser.destroy(refusal(`more than ${FILES_MAX} files`)))
  let isWhole = false
  const source = async function* () {
    yield* limited(chunks, bytesMax, memory)
    isWhole = true
  }
  try {
    await pipeline(Readable.from(source()), parser)
  } catch (error) {
    throw isWhole && !(error instanceof Exception) ? refusal(`no end: ${(error as Error).message}`) : error
  }
  return { fields, files: files.map(({ name, chunks }) => ({ name, bytes: Buffer.concat(chunks) })) }
}

function parserOf(headers: IncomingHttpHeaders, bytesMax: number) {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      isPartAFile: (_name, _type, fileName) => fileName !== undefined,
      limits: {
        fieldNameSize: NAME_BYTES_MAX,
        fieldSize: bytesMax,
        fields: FIELDS_MAX,
        files: FILES_MAX,
        headerSize: HEADER_BYTES_MAX,
      },
    })
  } catch (error) {
    throw refusal(`an invalid form: ${(error as Error).message}`)
  }
}

/** Passes chunks on within the limits. */
async function* limited(source: AsyncIterable<Buffer>, bytesMax: number, memory: MemoryShare): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge(bytesMax)
    memory.set(bytes)
    yield chunk
  }
}

function refusal(what: string): Exception {
  return new Exception(Code.BadArguments, `The body of type multipart/form-data has ${what}. (BAD_ARGUMENTS)`)
}
