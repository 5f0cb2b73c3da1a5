import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

/**
 * Ways in which a server pages its lists:
 * - `tokens`: as Amazon S3 does, with a NextContinuationToken;
 * - `markers`: as version 1 of the protocol, whatever the request: NextMarker, and no token;
 * - `repeats`: truncated for ever, always the first page, with the same token;
 * - `new-tokens`: the same, with another token on each page;
 * - `empty`: pages without a key, each with another token;
 * - `no-way-on`: truncated, without token or marker; every later request gets the first page.
 */
export type Paging = 'tokens' | 'markers' | 'repeats' | 'new-tokens' | 'empty' | 'no-way-on'

export interface PagedS3 {
  readonly endpoint: string
  /** Its objects, by key. */
  readonly objects: Map<string, Buffer>
  /** The number of list requests. */
  lists: number
  /** Whether lists include other prefixes, too. */
  ignoresPrefix: boolean
  /** When objects were written, milliseconds, by key. Default: 0. */
  readonly modified: Map<string, number>
  /** Answers a request in another way, if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** An endless reader is refused in the end, so that its test fails instead of hanging. */
const LISTS_MAX = 500

/**
 * An S3 server in memory, without signatures. Every bucket name reaches the same bucket.
 * @param pageKeys keys per page
 */
export async function startPagedS3(t: TestContext, paging: Paging, pageKeys = 2): Promise<PagedS3> {
  const objects = new Map<string, Buffer>()
  const server = createServer((request, response) => {
    void answer(request, response).catch((error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const modified = new Map<string, number>()
  const s3: PagedS3 = { endpoint, objects, lists: 0, ignoresPrefix: false, modified, intercept: () => false }
  return s3

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (s3.intercept(request, response)) return
    const url = new URL(request.url!, 'http://x')
    const [, , ...rest] = decodeURIComponent(url.pathname).split('/')
    const key = rest.join('/')
    if (key === '') {
      if (++s3.lists > LISTS_MAX) response.writeHead(400).end()
      else response.writeHead(200, { 'content-type': 'application/xml' }).end(list(url.searchParams))
      return
    }
    if (request.method === 'PUT') objects.set(key, await buffer(request))
    if (request.method === 'DELETE') objects.delete(key)
    if (request.method === 'DELETE') response.writeHead(204).end()
    else if (objects.has(key)) {
      const body = objects.get(key)!
      const isRead = request.method !== 'PUT'
      response.writeHead(200, { etag: etagOf(body), 'content-length': isRead ? body.length : 0 })
      response.end(request.method === 'GET' ? body : undefined)
    } else response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
  }

  function list(query: URLSearchParams): string {
    const isStuck = paging !== 'tokens' && paging !== 'markers'
    const start = query.get('start-after') ?? ''
    const after = isStuck ? '' : (query.get(paging === 'tokens' ? 'continuation-token' : 'marker') ?? start)
    const prefix = s3.ignoresPrefix ? '' : (query.get('prefix') ?? '')
    const left = [...objects.keys()].sort().filter((key) => key.startsWith(prefix) && key > after)
    const page = paging === 'empty' ? [] : left.slice(0, pageKeys)
    const contents = page.map((key) => {
      const body = objects.get(key)!
      const time = new Date(modified.get(key) ?? 0).toISOString()
      return `<Contents><Key>${key}</Key><Size>${body.length}</Size><LastModified>${time}</LastModified><ETag>${etagOf(body)}</ETag></Contents>`
    })
    const isTruncated = isStuck || left.length > page.length
    const last = page.at(-1) ?? ''
    const token = (name: string) => `<NextContinuationToken>${name}</NextContinuationToken>`
    const next: Record<Paging, string> = {
      tokens: token(last),
      markers: `<NextMarker>${last}</NextMarker>`,
      repeats: token('again'),
      'new-tokens': token(`t${s3.lists}`),
      empty: token(`t${s3.lists}`),
      'no-way-on': '',
    }
    return `<ListBucketResult>${contents.join('')}<IsTruncated>${isTruncated}</IsTruncated>${isTruncated ? next[paging] : ''}</ListBucketResult>`
  }
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`
}
