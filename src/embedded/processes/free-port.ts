import { type AddressInfo, createServer } from 'node:net'
import { InputError } from '../../run/errors.ts'
import { hostProblem, type ListenPort, portRefusal } from '../../run/host-problem.ts'
import { poll } from '../../run/loop.ts'

const RETRY_EVERY_MS = 100

/** An address and port with their settings. Port 0 is any free one. */
interface ListenSettings extends ListenPort {
  /** Undefined for a fixed host. */
  readonly hostSetting?: string
}

/**
 * Asserts that the port is free. Ingress processes share the port, so they would not notice a second instance. A process that
 * is about to end has `patienceMs` to free it.
 * @returns the port, or a free one for 0
 * @throws InputError when the host is not an address of this machine, StartupError when the port stays taken
 */
export async function waitForFreePort(settings: ListenSettings, patienceMs: number): Promise<number> {
  const { port, host } = settings
  let refusal: Error | undefined
  const isFree = async () => {
    const found = await listenOnce(host, port)
    if (typeof found === 'number') return found
    const problem = hostProblem(found)
    if (problem !== undefined && settings.hostSetting !== undefined) {
      throw new InputError(`${settings.hostSetting} ${JSON.stringify(host)}: ${problem}`)
    }
    refusal = portRefusal(settings, found)
    if (found.code !== 'EADDRINUSE') throw refusal
    return undefined
  }
  const free = await poll(isFree, { everyMs: RETRY_EVERY_MS, deadlineMs: performance.now() + patienceMs })
  if (free === undefined) throw refusal
  return free
}

/** Listens for a moment. Returns the port, or the error. */
function listenOnce(host: string, port: number): Promise<number | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ host, port, exclusive: true }, () => {
      const { port: found } = server.address() as AddressInfo
      server.close(() => resolve(found))
    })
  })
}
