import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine, printPairs } from '../../terminal/print.ts'
import { compileTables } from '../files/build/compile-tables.ts'
import { STARTER_DIR } from '../files/folder.ts'
import { replaceFile } from '../files/replace-file.ts'

interface BuildRequest {
  readonly tables: readonly string[]
  /** Path of the MMDB. */
  readonly output: string
  /** MMDB with AS numbers; undefined picks the best one of the folder. */
  readonly asn: string | undefined
  readonly enrichDir: string | undefined
  readonly json: boolean
}

/** `ipid db build`: compiles tables into an MMDB, which replaces the old one atomically. */
export async function buildMmdb(request: BuildRequest, { stdout, stderr }: CliContext): Promise<void> {
  const { tables, output, asn, enrichDir } = request
  const asSource = asn === undefined ? { dir: enrichDir ?? STARTER_DIR } : { file: asn }
  const built = await compileTables({ tables, asSource, builtAtMs: Date.now() })
  await replaceFile(output, built.bytes)
  if (built.unknownColumns.length > 0) printLine(stderr, `ipid: unknown columns: ${built.unknownColumns.join(', ')}`)
  if (built.asUnknown.length > 0) {
    printLine(stderr, `ipid: no known networks of ${built.asUnknown.map((number) => `AS${number}`).join(', ')}`)
  }
  const { rows, networks, bytes, asFile = null, asUnknown } = built
  if (request.json) {
    const unknown = asUnknown.map((number) => `AS${number}`)
    return printJson(stdout, {
      file: output,
      rows,
      networks,
      size_bytes: bytes.length,
      as_file: asFile,
      as_unknown: unknown,
    })
  }
  printPairs(stdout, [
    ['file', output],
    ['rows', rows],
    ['networks', networks],
    ['bytes', bytes.length],
    ['AS numbers from', asFile],
  ])
}
