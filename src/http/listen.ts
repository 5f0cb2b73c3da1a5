import uWS, { type TemplatedApp, type us_listen_socket } from 'uWebSockets.js'
import { createServer } from 'node:net'
import { StartupError } from '../core/run/errors.ts'

/** Options of `listen` in the native engine. */
const SHARED = 0
const EXCLUSIVE = 1

/** Its type declarations leave out listening on a host with options. */
type Listen = (host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void) => void

export interface Listening {
  readonly socket: us_listen_socket
  /** The real one. */
  readonly port: number
}

/**
 * Listens.
 * @param port 0: any free one, which is never shared
 * @param share other processes of this user may listen on the same port, and then share its connections (Linux)
 * @throws StartupError that says why not
 */
export async function listen(app: TemplatedApp, host: string, port: number, share: boolean): Promise<Listening> {
  let socket: us_listen_socket | false = false
  ;(app.listen as unknown as Listen).call(app, host, port, share ? SHARED : EXCLUSIVE, (result) => {
    socket = result
  })
  if (socket) return { socket, port: uWS.us_socket_local_port(socket) }
  const reason = await whyNot(host, port)
  throw new StartupError(`cannot listen on ${host}:${port}: ${reason}`)
}

/** The engine does not say why it failed, so the same is tried with one that does. */
function whyNot(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const attempt = createServer()
    attempt.once('error', (error: NodeJS.ErrnoException) => resolve(explain(error)))
    attempt.listen({ host, port, exclusive: true }, () => {
      attempt.close(() => resolve('the port was taken a moment ago; try again'))
    })
  })
}

function explain(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'another program uses this port; choose another with PORT, or end that program'
    case 'EACCES':
      return 'this user may not use this port; choose one from 1024 upwards with PORT'
    case 'EADDRNOTAVAIL':
      return 'this machine does not have this address; correct HOST'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'this host is not known; correct HOST'
    default:
      return error.message
  }
}
