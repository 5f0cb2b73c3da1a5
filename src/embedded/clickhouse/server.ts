import { mkdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { answerException, answerResult, answerText } from './answer.ts'
import { type Body, type BodyLimits, BodyReader } from './body.ts'
import { refuseWebPages } from './browsers.ts'
import type { Engine } from './engine.ts'
import { exceptionOf } from './exception.ts'
import { headerValue } from './header-value.ts'
import { answerPage } from './play.ts'
import { ProgressResponse } from './progress-response.ts'
import type { Progress } from './progress-watch.ts'
import { parseRequest, type StatementRequest } from './request.ts'
import { insertFromFile } from './statement.ts'

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
  readonly log: Logger
}

interface Surroundings {
  readonly engine: Engine
  readonly bodies: BodyReader
  readonly sendMsMax: number
}

/** ClickHouse's HTTP interface over an engine. It asks for no password, and so belongs on a loopback address. */
export function createClickHouseServer(engine: Engine, { limits, bodyFolder, sendMsMax, log }: ServerOptions): Server {
  rmSync(bodyFolder, { recursive: true, force: true })
  mkdirSync(bodyFolder, { recursive: true, mode: 0o700 })
  const surroundings = { engine, bodies: new BodyReader(limits, bodyFolder), sendMsMax }
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS, ServerResponse: ProgressResponse },
    (req, res) => {
      handle(surroundings, req, res).catch((error: unknown) => {
        const exception = exceptionOf(error)
        if (!req.destroyed || res.writable) answerException(req, res, exception)
        log.debug({ code: exception.code, err: exception }, 'statement failed')
      })
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
  const request = parseRequest(req.method ?? '', url.searchParams, req.headers)
  res.setHeader('X-ClickHouse-Query-Id', headerValue('query_id', request.queryId))
  const body = await surroundings.bodies.read(req, insertFromFile(request.query, '') !== undefined)
  try {
    await execute(surroundings, request, body, req, res)
  } finally {
    await body.release()
  }
}

async function execute(
  { engine, sendMsMax }: Surroundings,
  request: StatementRequest,
  body: Body,
  req: IncomingMessage,
  res: ProgressResponse,
): Promise<void> {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  const onProgress = (progress: Progress) => res.sendProgress(progress)
  await engine.execute({ ...request, body, onProgress }, gone.signal, async (answer) => {
    await answerResult(req, res, request, answer, sendMsMax)
  })
  res.end()
}
