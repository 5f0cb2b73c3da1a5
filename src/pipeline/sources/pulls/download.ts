import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { UnavailableError } from '../../../run/errors.ts'

/** Time limits, milliseconds. */
export interface DownloadLimits {
  /** Until the connection is open, its encryption included. */
  readonly connectMs: number
  /** From then until the head of the answer. */
  readonly answerMs: number
  /** Between two pieces of the body. */
  readonly silenceMs: number
}

interface DownloadOptions {
  readonly headers: Readonly<Record<string, string>>
  /** Must not exist. Written only if the status is 200. */
  readonly file: string
  /** The body is read no further than this. */
  readonly bytesMax: number
  readonly limits: DownloadLimits
  readonly signal: AbortSignal
}

export interface Downloaded {
  readonly status: number
  /** Bytes of the body, with status 200. Above `bytesMax`: it is longer. */
  readonly bytes: number
}

/** The server is connected, but its answer did not begin in time. */
export class LateAnswerError extends UnavailableError {
  override name = 'LateAnswerError'
}

/** Routers forget a connection that is silent for some minutes. */
const KEEP_ALIVE_MS = 60_000
const REDIRECTS_MAX = 5

/**
 * Writes the answer to a GET to a file. `fetch` cannot do this: it gives up when an answer does not begin within 300 s. Redirects are
 * followed; another host gets no `authorization`.
 * @throws LateAnswerError, UnavailableError, or the reason of `signal`
 */
export async function download(url: URL, options: DownloadOptions): Promise<Downloaded> {
  let [at, headers] = [url, options.headers]
  for (let redirects = 0; ; redirects++) {
    const answerOrRedirect = await ask(at, { ...options, headers })
    if (!(answerOrRedirect instanceof URL)) return answerOrRedirect
    if (redirects === REDIRECTS_MAX) throw new UnavailableError(`${url.host} redirects in a circle`)
    const { authorization: _, ...others } = headers
    if (answerOrRedirect.origin !== at.origin) headers = others
    at = answerOrRedirect
  }
}

/** @returns a URL: where the answer redirects to */
async function ask(url: URL, { headers, file, bytesMax, limits, signal }: DownloadOptions): Promise<Downloaded | URL> {
  signal.throwIfAborted()
  const isEncrypted = url.protocol === 'https:'
  // A connection of its own: a reused connection emits no `connect` event.
  const request = (isEncrypted ? requestHttps : requestHttp)(url, { headers, agent: false })
  let response: IncomingMessage | undefined
  let failure: unknown
  const fail = (error: unknown) => {
    failure ??= error
    response?.destroy()
    request.destroy(error as Error)
  }
  let timer: NodeJS.Timeout | undefined
  const setDeadline = (ms: number, error: (text: string) => Error) => {
    clearTimeout(timer)
    timer = setTimeout(() => fail(error(`within ${ms / 1_000} s`)), ms)
  }
  const stop = () => fail(signal.reason)
  signal.addEventListener('abort', stop)
  // May also come after the answer has begun. Then the answer fails too.
  request.on('error', () => {})
  request.once('socket', (socket) => {
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.once(isEncrypted ? 'secureConnect' : 'connect', () => {
      setDeadline(limits.answerMs, (within) => new LateAnswerError(`no answer began ${within}`))
    })
  })
  try {
    setDeadline(limits.connectMs, (within) => new UnavailableError(`no connection ${within}`))
    request.end()
    response = ((await once(request, 'response')) as [IncomingMessage])[0]
    const { statusCode: status = 0, headers: answered } = response
    if (status >= 300 && status < 400 && answered.location !== undefined) return new URL(answered.location, url)
    if (status !== 200) return { status, bytes: 0 }
    const restartSilenceTimer = () =>
      setDeadline(limits.silenceMs, (within) => new UnavailableError(`nothing more came ${within}`))
    return { status, bytes: await save(response, file, bytesMax, restartSilenceTimer) }
  } catch (error) {
    if (failure !== undefined) throw failure
    throw new UnavailableError((error as Error).message || (error as NodeJS.ErrnoException).code!, { cause: error })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    response?.destroy()
    request.destroy()
  }
}

async function save(
  body: IncomingMessage,
  file: string,
  bytesMax: number,
  restartSilenceTimer: () => void,
): Promise<number> {
  const handle = await open(file, 'wx', 0o600)
  let bytes = 0
  try {
    restartSilenceTimer()
    for await (const piece of body as AsyncIterable<Buffer>) {
      restartSilenceTimer()
      bytes += piece.length
      if (bytes > bytesMax) break
      await handle.writeFile(piece)
    }
  } finally {
    await handle.close()
  }
  return bytes
}
