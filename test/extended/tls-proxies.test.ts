import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { BATCH_LIMITS } from '../../schemas/api/batch.ts'
import type { ErrorBody } from '../../schemas/api/error.ts'
import { CHOICE_MAX_BYTES } from '../../src/dashboard/server/choice-line.ts'
import { ENGINE_CHOICES } from '../../src/http/engine/choose.ts'
import { selfSigned } from '../support/certificate.ts'
import { testedEngine } from '../support/engines.ts'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { startInstance } from '../support/instance.ts'
import { takePort } from '../support/ports.ts'
import { createSource } from '../support/source-sdks.ts'
import { until } from '../support/until.ts'
import { noCaddy, noNginx, startCaddy, startNginx } from '../support/web-servers.ts'

/* The files of src/http/proxy as written, except for ports and certificates, in a real nginx and Caddy. */

/** A line of choices comes before a file on the dashboard. */
const LARGEST_BYTES = BATCH_LIMITS.bodyMaxBytes + CHOICE_MAX_BYTES
const API = 'api.example.com'
const DASHBOARD = 'ipid.example.com'
const read = (name: string) => readFileSync(new URL(`../../src/http/proxy/${name}`, import.meta.url), 'utf8')

interface Ports {
  readonly api: number
  readonly dashboard: number
}

interface Front {
  readonly port: number
  readonly authority: string
}

/** Every change of the text must apply, or the file says something else than this test. */
function replaced(text: string, changes: readonly (readonly [from: string, to: string])[]): string {
  return changes.reduce((changed, [from, to]) => {
    assert.ok(changed.includes(from), from)
    return changed.replaceAll(from, to)
  }, text)
}

async function certificates(t: TestContext) {
  const files = await selfSigned(await temporaryFolder(t), [API, DASHBOARD])
  return { ...files, authority: readFileSync(files.certificate, 'utf8') }
}

const FRONTS = [
  {
    name: 'nginx',
    skip: noNginx,
    async start(t: TestContext, to: Ports): Promise<Front> {
      const [port, plain] = [takePort(), takePort()]
      const { key, certificate, authority } = await certificates(t)
      const text = replaced(read('nginx.conf'), [
        ['127.0.0.1:8080', `127.0.0.1:${to.api}`],
        ['127.0.0.1:8081', `127.0.0.1:${to.dashboard}`],
        ['listen 443 ', `listen 127.0.0.1:${port} `],
        ['listen 80;', `listen 127.0.0.1:${plain};`],
        [`/etc/letsencrypt/live/${API}/fullchain.pem`, certificate],
        [`/etc/letsencrypt/live/${API}/privkey.pem`, key],
        [`/etc/letsencrypt/live/${DASHBOARD}/fullchain.pem`, certificate],
        [`/etc/letsencrypt/live/${DASHBOARD}/privkey.pem`, key],
      ])
      await startNginx(t, text, `http://127.0.0.1:${plain}`)
      return { port, authority }
    },
  },
  {
    name: 'Caddy',
    skip: noCaddy,
    async start(t: TestContext, to: Ports): Promise<Front> {
      const [port, plain] = [takePort(), takePort()]
      const { key, certificate, authority } = await certificates(t)
      // Of its own accord it would ask an authority on the Internet.
      const text = replaced(read('Caddyfile'), [
        ['127.0.0.1:8080', `127.0.0.1:${to.api}`],
        ['127.0.0.1:8081', `127.0.0.1:${to.dashboard}`],
        ['{\n\tservers {', `{\n\tadmin off\n\tauto_https off\n\tservers {`],
        [`\n${API} {`, `\nhttps://${API}:${port} {\n\ttls ${certificate} ${key}`],
        [`\n${DASHBOARD} {`, `\nhttps://${DASHBOARD}:${port} {\n\ttls ${certificate} ${key}`],
      ])
      await startCaddy(t, `${text}\nhttp://127.0.0.1:${plain} {\n\trespond ok\n}\n`, `http://127.0.0.1:${plain}`)
      return { port, authority }
    },
  },
]

/** A connection of HTTP/2, as browsers and many SDKs open one. */
function sessionTo(t: TestContext, { port, authority }: Front, name: string): ClientHttp2Session {
  const session = connect(`https://${name}:${port}`, {
    lookup: (_host, options, callback) =>
      options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4),
    ca: authority,
  })
  t.after(() => session.destroy())
  return session
}

async function statusOf(stream: ClientHttp2Stream) {
  const [headers] = await once(stream, 'response')
  return headers as Record<string, string | number>
}

/** Sends a body over HTTP/1.1, where a client reads an answer that comes before the end of its body. */
async function statusOfUpload(
  { port, authority }: Front,
  servername: string,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<number | undefined> {
  const to = { host: '127.0.0.1', port, servername, ca: authority, agent: false, path, method: 'POST' }
  const sent = request({ ...to, headers: { ...headers, host: servername, 'content-length': body.length } })
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>
  sent.end(body)
  const [answer] = await answered
  sent.on('error', () => {}).destroy()
  return answer.statusCode
}

async function textOf(stream: ClientHttp2Stream): Promise<string> {
  stream.setEncoding('utf8')
  let text = ''
  for await (const piece of stream) text += piece
  return text
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function upstream(t: TestContext, handle: Handler): Promise<number> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

for (const { name, skip, start } of FRONTS) {
  test(`${name} speaks HTTP/2 outside, HTTP/1.1 on kept connections inside, for both names`, { skip }, async (t) => {
    const sockets = new Set<unknown>()
    const seen: IncomingMessage[] = []
    const answerAs = (label: string) =>
      upstream(t, (received, response) => {
        sockets.add(received.socket)
        seen.push(received)
        response.end(label)
      })
    const front = await start(t, { api: await answerAs('api'), dashboard: await answerAs('dashboard') })
    for (const [host, label] of [
      [API, 'api'],
      [DASHBOARD, 'dashboard'],
    ] as const) {
      const session = sessionTo(t, front, host)
      for (let i = 0; i < 3; i++) {
        const headers = { 'x-forwarded-for': '17.9.9.9', forwarded: 'for=17.9.9.8', 'x-real-ip': '17.9.9.7' }
        const stream = session.request({ ':path': '/', ...headers })
        const answer = await statusOf(stream)
        assert.deepEqual([answer[':status'], await textOf(stream)], [200, label])
        assert.equal(answer['strict-transport-security'], 'max-age=31536000')
      }
    }
    assert.equal(sockets.size, 2, 'one connection to each')
    for (const { httpVersion, headers } of seen) {
      assert.equal(httpVersion, '1.1')
      // What a stranger wrote is gone.
      assert.deepEqual([headers['x-forwarded-for'], headers.forwarded], ['127.0.0.1', undefined])
      assert.ok([API, DASHBOARD].includes(headers.host!.replace(`:${front.port}`, '')))
    }
    const other = connectTls({ host: '127.0.0.1', port: front.port, servername: 'clickhouse.example.com' })
    await assert.rejects(once(other, 'secureConnect'))
  })

  test(`${name} passes a body on while it arrives, and an answer too`, { skip }, async (t) => {
    let arrived = ''
    let end = () => {}
    const port = await upstream(t, (received, response) => {
      if (received.method === 'POST') {
        received.setEncoding('utf8').on('data', (text) => {
          arrived += text
        })
        return void received.on('end', () => response.end())
      }
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
      response.write('data: 1\n\n')
      end = () => response.end('data: 2\n\n')
    })
    const front = await start(t, { api: port, dashboard: port })
    for (const host of [API, DASHBOARD]) {
      arrived = ''
      const session = sessionTo(t, front, host)
      const upload = session.request({ ':method': 'POST', ':path': '/' })
      const answered = statusOf(upload)
      upload.write('first')
      await until(() => arrived === 'first')
      upload.end('second')
      assert.equal((await answered)[':status'], 200)
      assert.equal(arrived, 'firstsecond')
      const events = session.request({ ':path': '/' })
      let got = ''
      events.setEncoding('utf8').on('data', (text) => {
        got += text
      })
      await until(() => got === 'data: 1\n\n')
      end()
      await until(() => got === 'data: 1\n\ndata: 2\n\n')
    }
  })

  test(`${name} answers 503 and when to come back while ipid is down, and passes its own errors on`, {
    skip,
  }, async (t) => {
    const own = await upstream(t, (received, response) => {
      if (received.url === '/cut') return void received.socket.destroy()
      response.writeHead(Number(received.url!.slice(1)), { 'content-type': 'text/plain' }).end('its own')
    })
    const down = takePort()
    const stopped = await start(t, { api: down, dashboard: down })
    const running = await start(t, { api: own, dashboard: own })
    const ask = async (front: Front, host: string, path: string, method = 'GET') => {
      const stream = sessionTo(t, front, host).request({ ':path': path, ':method': method })
      const answered = statusOf(stream)
      stream.end()
      const headers = await answered
      return { headers, text: await textOf(stream) }
    }
    for (const [front, path] of [
      [stopped, '/v1/ingest'],
      [running, '/cut'],
    ] as const) {
      const { headers, text } = await ask(front, API, path, 'POST')
      const [status, after, type] = [headers[':status'], headers['retry-after'], headers['content-type']]
      assert.deepEqual([status, after, type], [503, '5', 'application/json'])
      assert.equal(headers['strict-transport-security'], 'max-age=31536000')
      const body: ErrorBody = { detail: 'ipid does not answer: it may be starting', code: 'not_ready' }
      assert.deepEqual(JSON.parse(text), body)
      const page = await ask(front, DASHBOARD, path)
      assert.deepEqual([page.headers[':status'], page.headers['retry-after']], [503, '5'])
      assert.match(String(page.headers['content-type']), /^text\/html/)
      assert.equal(page.headers['strict-transport-security'], 'max-age=31536000')
      assert.match(page.text, /^<!doctype html>.*does not answer/is)
    }
    for (const host of [API, DASHBOARD]) {
      for (const status of [500, 502, 503, 504]) {
        const { headers, text } = await ask(running, host, `/${status}`)
        assert.deepEqual([headers[':status'], headers['retry-after'], text], [status, undefined, 'its own'])
      }
    }
  })

  test(`${name} takes the largest upload`, { skip }, async (t) => {
    let bytes = 0
    const port = await upstream(t, (received, response) => {
      received.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      received.on('end', () => response.end())
    })
    const front = await start(t, { api: port, dashboard: port })
    const sent = await statusOfUpload(front, DASHBOARD, '/', {}, Buffer.alloc(LARGEST_BYTES))
    assert.deepEqual([sent, bytes], [200, LARGEST_BYTES])
  })

  for (const engine of ENGINE_CHOICES.filter((one) => one === 'node:http' || one === testedEngine()))
    test(`${name} in front of ${engine}: events, uploads, refusals and the dashboard`, { skip }, async (t) => {
      const dashboard = takePort()
      const settings = { HTTP_ENGINE: engine, DASHBOARD_PORT: String(dashboard), DASHBOARD_URL: `https://${DASHBOARD}` }
      const instance = await startInstance(t, { SINK_LINGER_MS: '100', ...settings })
      const front = await start(t, { api: Number(new URL(instance.ready.url).port), dashboard })
      const api = sessionTo(t, front, API)
      const post = async (path: string, headers: Record<string, string>, body: string | Buffer) => {
        const stream = api.request({ ':method': 'POST', ':path': path, ...headers })
        stream.on('error', () => {})
        const answered = statusOf(stream)
        stream.end(body)
        const status = (await answered)[':status']
        return [status, await textOf(stream)] as const
      }
      const key = { 'x-api-key': instance.apiKey }
      assert.equal((await post('/v1/ingest', key, '{"events":[{"ip":"17.0.0.1","id":"a"}]}'))[0], 200)
      const lines = Array.from(
        { length: 20_000 },
        (_, i) => `{"ip":"17.0.0.1","timestamp":"2026-11-22T08:00:00.000Z","id":"b${i}"}\n`,
      ).join('')
      const [uploaded, text] = await post('/v1/ingest/batch', { ...key, 'content-type': 'application/x-ndjson' }, lines)
      assert.equal(uploaded, 202, text)
      // The answer comes before the body has been read: it must not become a 502.
      const wrong = { 'x-api-key': `ipid_${'0'.repeat(64)}`, 'content-type': 'application/x-ndjson' }
      assert.equal(await statusOfUpload(front, API, '/v1/ingest/batch', wrong, Buffer.alloc(20_000_000, lines)), 401)

      const tooLarge = Buffer.alloc(LARGEST_BYTES + 2 * 2 ** 20, lines)
      assert.equal(
        await statusOfUpload(
          front,
          API,
          '/v1/ingest/batch',
          { ...key, 'content-type': 'application/x-ndjson' },
          tooLarge,
        ),
        413,
      )

      const source = await createSource(instance, 'web')
      const script = /src="https?:\/\/[^/]+(\/[^"]+)\.js"/.exec(source.blocks.map(({ code }) => code).join('\n'))![1]!
      const visitor = { 'x-forwarded-for': '17.9.9.9', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0' }
      const events = [{ id: 'visit', type: 'page', at: Date.now(), url: 'https://shop.example/' }]
      const visit = JSON.stringify({ events, sent_at: Date.now() })
      assert.equal((await post(script, visitor, visit))[0], 204)
      const reserved = `SELECT any(classification) FROM outcomes WHERE source_id = '${source.source_id}' AND status = 'filtered'`
      // The visitor is this machine, whatever it writes.
      await until(
        () => instance.query(reserved),
        (found) => found === 'reserved',
      )
      await until(
        () => instance.query('SELECT count() FROM events'),
        (found) => found === '20001',
      )
      const page = sessionTo(t, front, DASHBOARD).request({
        ':authority': DASHBOARD,
        ':path': '/',
        accept: 'text/html',
      })
      assert.equal((await statusOf(page))[':status'], 200)
      assert.match(await textOf(page), /<!doctype html>/i)
    })
}
