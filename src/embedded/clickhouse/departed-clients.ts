import { readFile } from 'node:fs/promises'

/** State of a connection in the kernel's table: established. */
const ESTABLISHED = '01'

/**
 * The ports of clients on this machine that are connected to a port of 127.0.0.1.
 * @returns undefined where the kernel has no table of connections (macOS)
 */
export async function connectedPorts(port: number): Promise<ReadonlySet<number> | undefined> {
  let table: string
  try {
    table = await readFile('/proc/net/tcp', 'utf8')
  } catch {
    return undefined
  }
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const ports = new Set<number>()
  for (const line of table.split('\n')) {
    const [, address, client, state] = line.trim().split(/\s+/)
    if (address === local && state === ESTABLISHED) ports.add(Number.parseInt(client!.split(':')[1]!, 16))
  }
  return ports
}
