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

/** Longer than clients keep an idle connection, so that it is they who close it. */
const KEEP_ALIVE_MS = 30_000
/** An insert may be fed slowly. */
const REQUEST_TIMEOUT_MS = 3_600_000

export interface ServerOptions {
  readonly limits: BodyLimits
  /** Folder for the bodies of large inserts; it is emptied. */
  readonly bodyFolder: string
  /** How long a reader may take nothing of a result that waits for it, milliseconds. */
  readonly sendMsMax: number
  readonly own: OwnClients
  readonly log: Logger
}

interface Surroundings {
  readonly engine: Engine
  readonly bodies: BodyReader
  readonly sendMsMax: number
  readonly own: OwnClients
  readonly log: Logger
}

/** ClickHouse's HTTP interface over an engine. It asks for no password, and so belongs on a loopback address. */
export function createClickHouseServer(
  engine: Engine,
  { limits, bodyFolder, sendMsMax, own, log }: ServerOptions,
): Server {
  rmSync(bodyFolder, { recursive: true, force: true })
  mkdirSync(bodyFolder, { recursive: true, mode: 0o700 })
  const surroundings = { engine, bodies: new BodyReader(limits, bodyFolder), sendMsMax, own, log }
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS, ServerResponse: ProgressResponse },
    (req, res) => {
      handle(surroundings, req, res).catch((error: unknown) => fail(surroundings, req, res, error, PLAIN))
    },
  )
  return server
}

async function handle(surroundings: Surroundings, req: IncomingMessage, res: ProgressResponse): Promise<void> {
  res.setHeader('X-ClickHouse-Server-Display-Name', hostname())
  refuseWebPages(req.headers)
  const url = new URL(req.url ?? '/', 'http://localhost')
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  if (isRead && url.pathname === '/ping') return answerText(res, 'Ok.\n')
  if (isRead && url.pathname === '/' && !url.searchParams.has('query')) return answerText(res, 'Ok.\n')
  if (isRead && url.pathname === '/play') return await answerPage(res, url)
  // It is how the page asks whether there is a server.
  if (req.method === 'OPTIONS' && url.pathname === '/') return void res.writeHead(204).end()
  if (url.pathname !== '/' || !(isRead || req.method === 'POST')) {
    req.resume()
    return answerText(res, `There is no handle ${url.pathname}: the embedded ClickHouse has /, /ping and /play\n`, 404)
  }
  const { searchParams: params } = url
  const coding = answerCodingOf(params, req.headers)
  try {
    const { request, body } = await readRequest(surroundings, params, req, res)
    await execute(surroundings, request, body, coding, res).finally(() => body.release())
  } catch (error) {
    await fail(surroundings, req, res, error, coding)
  }
}

async function readRequest(
  { bodies, own }: Surroundings,
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
  { engine, sendMsMax }: Surroundings,
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
  { log }: Surroundings,
  req: IncomingMessage,
  res: ServerResponse,
  error: unknown,
  coding: AnswerCoding,
): Promise<void> {
  const exception = exceptionOf(error)
  log.debug({ code: exception.code, err: exception }, 'statement failed')
  // It fails when the client has gone.
  if (!req.destroyed || res.writable) await answerException(req, res, exception, coding).catch(() => {})
}
