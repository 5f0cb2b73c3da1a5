import { mkdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { answerException, answerResult, answerText } from './answer.ts'
import { type Body, type BodyLimits, BodyReader } from './body.ts'
import { refuseWebPages } from './browsers.ts'
import type { Engine } from './engine.ts'
import { Code, Exception, exceptionOf } from './exception.ts'
import { externalTablesOf } from './external-tables.ts'
import { isForm } from './form.ts'
import { headerValue } from './header-value.ts'
import type { OwnClients } from './own-clients.ts'
import { answerPage } from './play.ts'
import { ProgressResponse } from './progress-response.ts'
import type { Progress } from './progress-watch.ts'
import {
  type AnswerCoding,
  answerCodingOf,
  bodyFormOf,
  PLAIN,
  parseRequest,
  type StatementRequest,
  withFields,
} from './request.ts'

/** Longer than clients keep idle connections, so that the client closes first. */
const KEEP_ALIVE_MS = 30_000
/** An insert may be fed slowly. */
const REQUEST_TIMEOUT_MS = 3_600_000

export interface ServerOptions {
  readonly limits: BodyLimits
  /** Folder for the bodies of large inserts; it is emptied. */
  readonly bodyFolder: string
  /** How long a reader of a result may stall, milliseconds. */
  readonly sendMsMax: number
  readonly own: OwnClients
  readonly log: Logger
}

interface ServerParts {
  readonly engine: Engine
  readonly bodies: BodyReader
  readonly sendMsMax: number
  readonly own: OwnClients
  readonly log: Logger
}

/** ClickHouse's HTTP interface for an engine. It has no password, so it must listen on a loopback address. */
export function createClickHouseServer(
  engine: Engine,
  { limits, bodyFolder, sendMsMax, own, log }: ServerOptions,
): Server {
  rmSync(bodyFolder, { recursive: true, force: true })
  mkdirSync(bodyFolder, { recursive: true, mode: 0o700 })
  const parts = { engine, bodies: new BodyReader(limits, bodyFolder), sendMsMax, own, log }
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS, ServerResponse: ProgressResponse },
    (req, res) => {
      handle(parts, req, res).catch((error: unknown) => fail(parts, req, res, error, PLAIN))
    },
  )
  return server
}

async function handle(parts: ServerParts, req: IncomingMessage, res: ProgressResponse): Promise<void> {
  res.setHeader('X-ClickHouse-Server-Display-Name', hostname())
  refuseWebPages(req.headers)
  const url = new URL(req.url ?? '/', 'http://localhost')
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  if (isRead && url.pathname === '/ping') return answerText(res, 'Ok.\n')
  if (isRead && url.pathname === '/' && !url.searchParams.has('query')) return answerText(res, 'Ok.\n')
  if (isRead && url.pathname === '/play') return await answerPage(res, url)
  // The page /play checks with it whether the server runs.
  if (req.method === 'OPTIONS' && url.pathname === '/') return void res.writeHead(204).end()
  if (url.pathname !== '/' || !(isRead || req.method === 'POST')) {
    req.resume()
    return answerText(res, `Not found: ${url.pathname}. The embedded ClickHouse has /, /ping and /play\n`, 404)
  }
  const { searchParams: params } = url
  const coding = answerCodingOf(params, req.headers)
  try {
    const { request, body } = await readRequest(parts, params, req, res)
    await execute(parts, request, body, coding, res).finally(() => body.release())
  } catch (error) {
    await fail(parts, req, res, error, coding)
  }
}

async function readRequest(
  { bodies, own }: ServerParts,
  params: URLSearchParams,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<{ request: StatementRequest; body: Body }> {
  const { method = '', headers } = req
  const bodyForm = bodyFormOf(params)
  if (!isForm(headers)) {
    const request = parseRequest(method, params, headers, own)
    res.setHeader('X-ClickHouse-Query-Id', headerValue('query_id', request.queryId))
    const { query, ...body } = await bodies.read(req, bodyForm, request.query)
    return { request: { ...request, query }, body }
  }
  if (method !== 'POST') throw new Exception(Code.BadArguments, 'multipart/form-data needs POST. (BAD_ARGUMENTS)')
  const { release, ...form } = await bodies.readForm(req, bodyForm)
  try {
    const all = withFields(params, form)
    const tables = externalTablesOf(form.files, all)
    const request = parseRequest(method, all, headers, own, tables)
    res.setHeader('X-ClickHouse-Query-Id', headerValue('query_id', request.queryId))
    return { request, body: { bytes: Buffer.alloc(0), file: undefined, release } }
  } catch (error) {
    await release()
    throw error
  }
}

async function execute(
  { engine, sendMsMax }: ServerParts,
  request: StatementRequest,
  body: Body,
  coding: AnswerCoding,
  res: ProgressResponse,
): Promise<void> {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  const onProgress = (progress: Progress) => res.sendProgress(progress)
  await engine.execute({ ...request, body, onProgress }, gone.signal, async (answer) => {
    await answerResult(res, coding, answer, sendMsMax)
  })
  res.end()
}

async function fail(
  { log }: ServerParts,
  req: IncomingMessage,
  res: ServerResponse,
  error: unknown,
  coding: AnswerCoding,
): Promise<void> {
  const exception = exceptionOf(error)
  log.debug({ code: exception.code, err: exception }, 'statement failed')
  // This fails when the client has disconnected.
  if (!req.destroyed || res.writable) await answerException(req, res, exception, coding).catch(() => {})
}
