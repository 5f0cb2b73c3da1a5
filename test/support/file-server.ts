import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** The answer for a path. */
export type FileHandler = (request: IncomingMessage, response: ServerResponse) => void

/** A web server on loopback with files. */
export class FileServer {
  url = ''
  /** Requests as received. */
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[] = []
  readonly #handlers = new Map<string, FileHandler>()

  static async start(t: TestContext): Promise<FileServer> {
    const files = new FileServer()
    const server = createServer((request, response) => {
      files.requests.push({ path: request.url!, headers: request.headers })
      const handler = files.#handlers.get(new URL(request.url!, 'http://host').pathname)
      if (handler === undefined) response.writeHead(404).end('nothing here')
      else handler(request, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    files.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return files
  }

  handle(path: string, handler: FileHandler): void {
    this.#handlers.set(path, handler)
  }

  /** Serves a file with an entity tag, and 304 to a client that has it. */
  serve(path: string, content: Uint8Array | string, etag = '"1"'): void {
    this.handle(path, ({ headers }, response) => {
      if (headers['if-none-match'] === etag) response.writeHead(304).end()
      else response.writeHead(200, { etag }).end(content)
    })
  }
}
