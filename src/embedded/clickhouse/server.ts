import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Logger } from 'pino'
import { type Body, type BodyLimits, BodyReader } from './body.ts'
import { refuseWebPages } from './browsers.ts'
import type { Answer, Engine, Summary } from './engine.ts'
import { type Exception, exceptionOf, statusOf } from './exception.ts'
import { parseRequest, type StatementRequest } from './request.ts'
import { insertFromFile } from './statement.ts'

/** Longer than clients keep an idle connection, so that it is they who close it. */
const KEEP_ALIVE_MS = 30_000
/** An insert may be fed slowly. */
const REQUEST_TIMEOUT_MS = 3_600_000
const GZIP_LEVEL = 3

export interface ServerOptions {
  readonly limits: BodyLimits
  /** Folder for the bodies of large inserts; it is emptied. */
  readonly bodyFolder: string
  readonly log: Logger
}

/** ClickHouse's HTTP interface over an engine. It asks for no password, and so belongs on a loopback address. */
export function createClickHouseServer(engine: Engine, { limits, bodyFolder, log }: ServerOptions): Server {
  rmSync(bodyFolder, { recursive: true, force: true })
  mkdirSync(bodyFolder, { recursive: true, mode: 0o700 })
  const bodies = new BodyReader(limits, bodyFolder)
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS }, (req, res) => {
    handle(engine, bodies, req, res).catch((error: unknown) => {
      const exception = exceptionOf(error)
      if (!req.destroyed || res.writable) answerException(req, res, exception)
      log.debug({ code: exception.code, err: exception }, 'statement failed')
    })
  })
  return server
}

async function handle(engine: Engine, bodies: BodyReader, req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.setHeader('X-ClickHouse-Server-Display-Name', hostname())
  refuseWebPages(req.headers)
  const url = new URL(req.url ?? '/', 'http://localhost')
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  if (isRead && (url.pathname === '/ping' || url.pathname === '/replicas_status')) return answerText(res, 'Ok.\n')
  if (isRead && url.pathname === '/' && !url.searchParams.has('query')) return answerText(res, 'Ok.\n')
  if (url.pathname !== '/' || !(isRead || req.method === 'POST')) {
    req.resume()
    return answerText(res, `There is no handle ${url.pathname}\n`, 404)
  }
  const request = parseRequest(req.method ?? '', url.searchParams, req.headers)
  res.setHeader('X-ClickHouse-Query-Id', request.queryId)
  const body = await bodies.read(req, insertFromFile(request.query, '') !== undefined)
  try {
    await execute(engine, request, body, req, res)
  } finally {
    await body.release()
  }
}

async function execute(
  engine: Engine,
  request: StatementRequest,
  body: Body,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  await engine.execute({ ...request, body }, gone.signal, async (answer) => {
    await answerResult(req, res, request, answer)
  })
}

async function answerResult(
  req: IncomingMessage,
  res: ServerResponse,
  request: StatementRequest,
  answer: Answer,
): Promise<void> {
  const compress = request.compress && /\bgzip\b/i.test(String(req.headers['accept-encoding'] ?? ''))
  const tag = randomBytes(8).toString('hex')
  res.writeHead(200, {
    'Content-Type': contentType(answer.format),
    'X-ClickHouse-Format': answer.format,
    'X-ClickHouse-Timezone': Intl.DateTimeFormat().resolvedOptions().timeZone,
    'X-ClickHouse-Summary': summaryText(answer.summary),
    'X-ClickHouse-Exception-Tag': tag,
    ...(compress ? { 'Content-Encoding': 'gzip' } : {}),
  })
  const chunks = Readable.from(withException(answer.chunks, tag, compress ? undefined : res), { objectMode: false })
  if (compress) await pipeline(chunks, createGzip({ level: GZIP_LEVEL }), res)
  else await pipeline(chunks, res)
}

/**
 * What goes wrong behind the first piece can only be told at the end of the body, and by breaking it off.
 * @param res to be broken off; undefined when that would lose what the compression still holds
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

function answerException(req: IncomingMessage, res: ServerResponse, exception: Exception): void {
  if (res.headersSent) {
    res.destroy()
    return
  }
  // What is left of a request that was refused half-way is not read.
  const headers = req.complete ? {} : { Connection: 'close' }
  res.writeHead(statusOf(exception.code), {
    ...headers,
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': String(exception.code),
  })
  res.end(exception.text)
}

function answerText(res: ServerResponse, text: string, status = 200): void {
  res.writeHead(status, { 'Content-Type': 'text/html; charset=UTF-8' })
  res.end(text)
}

function summaryText(summary: Summary): string {
  return JSON.stringify({
    read_rows: String(summary.readRows),
    read_bytes: String(summary.readBytes),
    written_rows: String(summary.writtenRows),
    written_bytes: String(summary.writtenBytes),
    total_rows_to_read: '0',
    result_rows: String(summary.writtenRows),
    result_bytes: String(summary.writtenBytes),
    elapsed_ns: String(summary.elapsedNs),
  })
}

function contentType(format: string): string {
  if (/^JSON(?!.*EachRow|Lines)/.test(format)) return 'application/json; charset=UTF-8'
  if (/^(?:JSON.*EachRow|JSONLines|NDJSON)/.test(format)) return 'application/x-ndjson; charset=UTF-8'
  if (/^CSV/.test(format)) return 'text/csv; charset=UTF-8'
  if (/^(?:TabSeparated|TSV)/.test(format)) return 'text/tab-separated-values; charset=UTF-8'
  if (/^(?:Native|RowBinary|Parquet|Arrow|ORC|Avro|MsgPack)/.test(format)) return 'application/octet-stream'
  return 'text/plain; charset=UTF-8'
}
