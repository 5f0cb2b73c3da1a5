import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import { createServer } from 'node:net'
import type { ListenAddress } from '../engine.ts'
import { listenError } from '../listen-error.ts'

/** Options of `listen` in the native build. */
const SHARED = 0
const EXCLUSIVE = 1

/** Its type declarations lack listening on a host with options. */
type Listen = (host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void) => void

/** As `Engine.listen`. Ports are shared on Linux only. */
export async function listen(app: TemplatedApp, address: ListenAddress, share: boolean): Promise<us_listen_socket> {
  const { host, port } = address
  let socket: us_listen_socket | false = false
  ;(app.listen as unknown as Listen).call(app, host, port, share ? SHARED : EXCLUSIVE, (result) => {
    socket = result
  })
  if (socket) return socket
  throw listenError(address, await whyNot(host, port))
}

/** uWebSockets.js gives no reason, so try the same with a `node:net` server. Undefined: listening works now. */
function whyNot(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const attempt = createServer()
    attempt.once('error', resolve)
    attempt.listen({ host, port, exclusive: true }, () => attempt.close(() => resolve(undefined)))
  })
}
