import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, type ListenOptions, Server as NetServer, type Socket } from 'node:net'
import type { CreateEngine, ListenAddress } from '../engine.ts'
import { HEAD_MAX_BYTES } from '../limits.ts'
import { listenError } from '../listen-error.ts'
import { Connection } from './connection.ts'
import { refusalOfError, refusalOfRequest } from './refusal.ts'
import { createRouter } from './router.ts'

/** The same time limit as uWebSockets.js has for a complete header section. */
const HEAD_MS = 10_000
/** Longer than load balancers keep connections by default, 60 s: one that we end meanwhile costs a request. */
const IDLE_MS = 75_000
/** How often slow header sections are checked for. */
const CHECK_EVERY_MS = 1_000

/** Node.js' own HTTP server: slower than uWebSockets.js, but available wherever Node.js is. */
export const createNodeEngine: CreateEngine = (routes, { idleMs = IDLE_MS } = {}) => {
  const find = createRouter(routes)
  const connections = new WeakMap<Socket, Connection>()
  const server = createServer({
    maxHeaderSize: HEAD_MAX_BYTES,
    headersTimeout: HEAD_MS,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    // We handle deadlines of bodies and requests without a host ourselves.
    requestTimeout: 0,
    requireHostHeader: false,
  })
  // A client that ends its side after a request gets the answer. The type declarations lack this old property.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Node.js would ignore or refuse headers beyond the first 1,000. The size of a head is limited anyway.
  server.maxHeadersCount = 0
  const connectionOf = (socket: Socket) => {
    let connection = connections.get(socket)
    if (connection === undefined) {
      connection = new Connection(socket)
      connections.set(socket, connection)
    }
    return connection
  }
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connectionOf(request.socket)
    const refusal = refusalOfRequest(request)
    if (refusal === undefined) connection.take(request, response, find)
    else connection.refuseRequest(request, refusal)
  }
  server.on('request', take)
  // Expectations other than `100-continue` are not defined.
  server.on('checkExpectation', take)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const refusal = refusalOfError(error)
    if (refusal === undefined) socket.destroy()
    else connectionOf(socket).refuse(refusal)
  })
  return {
    listen: (address, share) => listen(server, address, share),
    // `http.Server.close` would end idle connections at once, even those whose response is not written yet.
    stopListening: () => {
      NetServer.prototype.close.call(server)
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Node.js shares ports since 22.12 and 23.1; older type declarations lack the option. */
export function canSharePorts(node = process.versions.node, platform: string = process.platform): boolean {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  return platform === 'linux' && (major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12))
}

/** As `Engine.listen`. */
function listen(server: Server, address: ListenAddress, share: boolean): Promise<number> {
  const { host, port } = address
  const reusePort = share && port !== 0 && canSharePorts()
  const options: ListenOptions & { reusePort: boolean } = { host, port, exclusive: true, reusePort }
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      const hint = share && !canSharePorts() ? NOT_SHARED : undefined
      reject(listenError(address, error, hint))
    }
    server.once('error', failed)
    server.listen(options, () => {
      server.removeListener('error', failed)
      // One connection could not be accepted, for example for lack of memory. Others can.
      server.on('error', () => {})
      resolve((server.address() as AddressInfo).port)
    })
  })
}

const NOT_SHARED = `node:http shares a port on Linux with Node.js 22.12 or newer; this is ${process.versions.node}`
