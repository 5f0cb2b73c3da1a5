import { type AddressInfo, createServer } from 'node:net'
import { StartupError } from '../../core/run/errors.ts'
import { poll } from '../../runner/loop.ts'

const RETRY_EVERY_MS = 100

/**
 * Makes sure that nobody listens on the port. Processes of the ingress share it, so that they would not notice a second
 * instance. A holder that is about to end gets `patienceMs`.
 * @param setting names the port in the error
 * @throws StartupError when the port stays taken, or the host is no address of this machine
 */
export async function demandFreePort(setting: string, host: string, port: number, patienceMs: number): Promise<void> {
  const refusal = (reason: string) =>
    new StartupError(`${setting} ${port}: cannot listen on ${host}:${port} (${reason}); choose another port`)
  const isFree = async () => {
    const code = await tryListening(host, port)
    if (code !== undefined && code !== 'EADDRINUSE') throw refusal(code)
    return code === undefined || undefined
  }
  const free = await poll(isFree, { everyMs: RETRY_EVERY_MS, deadlineMs: performance.now() + patienceMs })
  if (!free) throw refusal('another program listens there')
}

/** A port on which nobody listens at this moment. */
export function findFreePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port: 0, exclusive: true }, () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** The error code; undefined when listening is possible. */
function tryListening(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
