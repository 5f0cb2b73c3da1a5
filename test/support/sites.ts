import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Destinations } from '../../src/alerts/sending/destinations.ts'

/** A public address that leads to the test's server. */
const PUBLIC = '93.184.215.14'

type Answer = Buffer | string | ((request: IncomingMessage, response: ServerResponse) => void)

/**
 * The sites of the world: one server on loopback that answers by host and path. The real guard checks where a name leads; then a
 * connection to the public address of these sites is made to that server.
 */
export class Sites {
  /** `host/path` of every request, in order. */
  readonly asked: string[] = []
  readonly requests: IncomingMessage[] = []
  /** Names that were resolved. */
  readonly resolved: string[] = []
  /** Where other names lead. */
  readonly addresses = new Map<string, readonly string[]>()
  readonly answers = new Map<string, Answer>()
  port = 0
  readonly #guard = new Destinations({
    allowsPrivate: false,
    resolve: async (host) => {
      this.resolved.push(host)
      return (this.addresses.get(host) ?? [PUBLIC]).map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
      }))
    },
  })

  static async start(t: Pick<TestContext, 'after'>): Promise<Sites> {
    const sites = new Sites()
    const server = createServer((request, response) => sites.#answer(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    sites.port = (server.address() as AddressInfo).port
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return sites
  }

  readonly siteOf = (domain: string): string => `http://${domain}:${this.port}/`

  readonly destinations: Pick<Destinations, 'addressesOf'> = {
    addressesOf: async (url, signal) =>
      (await this.#guard.addressesOf(url, signal)).map((found) =>
        found.address === PUBLIC ? { address: '127.0.0.1', family: 4 } : found,
      ),
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const place = `${request.headers.host!.replace(/:\d+$/, '')}${request.url}`
    this.asked.push(place)
    this.requests.push(request)
    const answer = this.answers.get(place)
    if (answer === undefined) response.writeHead(404).end('<h1>Nothing here')
    else if (typeof answer === 'function') answer(request, response)
    else response.end(answer)
  }
}

/** A redirect. */
export function movedTo(location: string): Answer {
  return (_request, response) => response.writeHead(302, { location }).end()
}
