import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { encoderOf } from './compression/encodings.ts'
import { encodeFrame, encodeFrames } from './compression/frames.ts'
import { type Exception, exceptionOf, statusOf } from './exception.ts'
import { headerValue } from './header-value.ts'
import type { Answer, Summary } from './reading.ts'
import type { AnswerCoding } from './request.ts'

/**
 * Streams a result with backpressure, and leaves the response open. The caller ends it when the statement is over.
 * Rejects when the reader disconnects or stalls.
 * @param sendMsMax how long the reader may stall, milliseconds
 */
export async function answerResult(
  res: ServerResponse,
  coding: AnswerCoding,
  answer: Answer,
  sendMsMax: number,
): Promise<void> {
  const { encoding, isFramed } = coding
  const tag = randomBytes(8).toString('hex')
  res.writeHead(200, {
    'Content-Type': answer.contentType,
    'X-ClickHouse-Format': headerValue('The format', answer.format),
    'X-ClickHouse-Timezone': headerValue('The time zone', answer.timezone),
    'X-ClickHouse-Summary': summaryText(answer.summary),
    'X-ClickHouse-Exception-Tag': tag,
    ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
  })
  const isPlain = encoding === undefined && !isFramed
  const chunks = withException(answer.chunks, tag, isPlain ? res : undefined)
  const coded = Readable.from(isFramed ? encodeFrames(chunks) : chunks, { objectMode: false })
  // The socket has no activity while the reader stalls.
  res.setTimeout(sendMsMax, () => {
    if (res.writableNeedDrain) res.destroy()
  })
  if (encoding === undefined) await pipeline(coded, res, { end: false })
  else await pipeline(coded, encoderOf(encoding), res, { end: false })
}

/**
 * Reports an error after the first chunk at the end of the body, and then destroys the connection.
 * @param res undefined when destroying it would lose data that the compression still buffers
 */
async function* withException(
  chunks: AsyncIterable<Uint8Array>,
  tag: string,
  res: ServerResponse | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (error) {
    const { text } = exceptionOf(error)
    const marker = '__exception__'
    yield Buffer.from(`\r\n${marker}\r\n${tag}\r\n${text}${Buffer.byteLength(text)} ${tag}\r\n${marker}\r\n`)
    if (res === undefined) return
    if (res.writableNeedDrain) await once(res, 'drain')
    throw error
  }
}

/** Responds with ClickHouse's status for the exception, or destroys a response that has begun. */
export async function answerException(
  req: IncomingMessage,
  res: ServerResponse,
  exception: Exception,
  { encoding, isFramed }: AnswerCoding,
): Promise<void> {
  if (res.headersSent) {
    res.destroy()
    return
  }
  const text = Buffer.from(exception.text)
  const body = isFramed ? await encodeFrame(text) : text
  // The rest of a refused request is not read.
  const headers = req.complete ? {} : { Connection: 'close' }
  res.writeHead(statusOf(exception.code), {
    ...headers,
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': String(exception.code),
    ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
  })
  if (encoding === undefined) res.end(body)
  else await pipeline(Readable.from([body]), encoderOf(encoding), res)
}

export function answerText(res: ServerResponse, text: string, status = 200): void {
  res.writeHead(status, { 'Content-Type': 'text/html; charset=UTF-8' })
  res.end(text)
}

function summaryText(summary: Summary): string {
  const { read } = summary
  return JSON.stringify({
    ...(read === undefined ? {} : { read_rows: String(read.rows), read_bytes: String(read.bytes) }),
    written_rows: String(summary.writtenRows),
    written_bytes: String(summary.writtenBytes),
    total_rows_to_read: '0',
    result_rows: String(summary.resultRows),
    result_bytes: String(summary.resultBytes),
    elapsed_ns: String(summary.elapsedNs),
  })
}
