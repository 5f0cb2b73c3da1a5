import { isIP } from 'node:net'
import { InputError } from '../run/errors.ts'

const PORT_MAX = 65_535

/**
 * Reads a list of name servers: addresses with an optional port, `192.0.2.53,192.0.2.54:5353,[2001:db8::53]:53`.
 * @throws InputError that says what is accepted
 */
export function readNameServers(text: string): string[] {
  const servers = text.split(',').map((server) => server.trim())
  for (const server of servers) {
    if (!isServer(server))
      throw new InputError(`"${server}" is not a name server: use ADDRESS, ADDRESS:PORT or [IPV6]:PORT`)
  }
  return servers
}

function isServer(server: string): boolean {
  if (isIP(server) !== 0) return true
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(server)
  if (match === null) return false
  const port = Number(match[3] ?? 53)
  return (match[1] === undefined ? isIP(match[2]!) === 4 : isIP(match[1]) === 6) && port > 0 && port <= PORT_MAX
}
