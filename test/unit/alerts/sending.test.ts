import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { Destinations } from '../../../src/alerts/sending/destinations.ts'
import { ANSWER_BYTES_MAX, post } from '../../../src/alerts/sending/post.ts'
import { newWebhookSecret, signedHeaders } from '../../../src/alerts/sending/signature.ts'

const NEVER = new AbortController().signal

async function listen(t: TestContext, answer: RequestListener): Promise<{ port: number; server: Server }> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, server }
}

test('the package standardwebhooks verifies our signature, and no other body', () => {
  const secret = newWebhookSecret()
  const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64').length
  assert.ok(bytes >= 24 && bytes <= 64)
  const body = '{"type":"company.first_seen","data":{"name":"Größe"}}'
  const headers = signedHeaders(secret, 'msg_1', Date.now(), body)
  assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
  assert.throws(() => new Webhook(secret).verify(`${body} `, headers))
  assert.throws(() => new Webhook(newWebhookSecret()).verify(body, headers))
})

const PRIVATE = [
  ...['127.0.0.1', '127.1', '2130706433', '0x7f.0.0.1', '0177.0.0.1', '10.1.2.3', '172.31.255.255', '192.168.0.1'],
  ...['169.254.169.254', '100.64.0.1', '0.0.0.0', '[::1]', '[::]', '[::ffff:10.0.0.1]', '[::ffff:7f00:1]'],
  ...['[fe80::1]', '[fd00::1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[::127.0.0.1]', '[ff02::1]', '224.0.0.1'],
]

for (const host of PRIVATE) {
  test(`the address ${host} is refused, unless private ones are allowed`, async () => {
    await assert.rejects(new Destinations({ allowsPrivate: false }).read(`http://${host}/hook`), {
      name: 'DestinationRefusedError',
      message: /is not a public address .*WEBHOOK_PRIVATE=on/,
    })
    await new Destinations({ allowsPrivate: true }).read(`http://${host}/hook`)
  })
}

test('a name is refused when one of its addresses is private', async () => {
  const names: Record<string, LookupAddress[]> = {
    'good.example': [{ address: '93.184.215.14', family: 4 }],
    'bad.example': [
      { address: '93.184.215.14', family: 4 },
      { address: 'fd00::5', family: 6 },
    ],
    'none.example': [],
  }
  const destinations = new Destinations({ allowsPrivate: false, resolve: async (host) => names[host]! })
  assert.equal((await destinations.read('https://good.example/a?b=c#d')).href, 'https://good.example/a?b=c')
  await assert.rejects(destinations.read('https://bad.example/'), /bad.example leads to fd00::5, which is not a public/)
  await assert.rejects(destinations.read('https://none.example/'), /none.example has no address/)
})

for (const [text, reason] of [
  ['ftp://a.example/', /must start with https/],
  ['a.example', /must start with https/],
  ['https://user:word@a.example/', /must not have a user/],
  [`https://a.example/${'x'.repeat(2_100)}`, /longer than 2048 characters/],
] as const) {
  test(`a destination like ${text.slice(0, 30)} is refused`, async () => {
    await assert.rejects(new Destinations({ allowsPrivate: true }).read(text), reason)
  })
}

test('a message goes to the address that was checked, whatever the name leads to later', async (t) => {
  const hosts: unknown[] = []
  const { port } = await listen(t, (request, response) => {
    hosts.push(request.headers.host)
    response.end('thanks')
  })
  let asked = 0
  const resolve = async () => {
    asked++
    return [{ address: asked === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }]
  }
  const destinations = new Destinations({ allowsPrivate: true, resolve })
  const url = new URL(`http://hook.example:${port}/x`)
  const addresses = await destinations.addressesOf(url)
  const answer = await post(url, { headers: {}, body: '{}', addresses, signal: NEVER })
  assert.deepEqual([answer, hosts, asked], [{ status: 200, text: 'thanks' }, [`hook.example:${port}`], 1])
})

test('a redirect is not followed, and its place is in the answer', async (t) => {
  const paths: unknown[] = []
  const { port } = await listen(t, (request, response) => {
    paths.push(request.url)
    response.writeHead(307, { location: '/private' }).end()
  })
  const addresses = [{ address: '127.0.0.1', family: 4 }]
  const answer = await post(new URL(`http://127.0.0.1:${port}/a`), { headers: {}, body: '', addresses, signal: NEVER })
  assert.deepEqual([answer, paths], [{ status: 307, text: '', location: '/private' }, ['/a']])
})

test('of an answer without end, only the beginning is read', async (t) => {
  const { port } = await listen(t, (_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    }
    response.on('drain', more)
    more()
  })
  const addresses = [{ address: '127.0.0.1', family: 4 }]
  const { status, text } = await post(new URL(`http://127.0.0.1:${port}/`), {
    ...{ headers: {}, body: '', addresses, signal: NEVER },
  })
  assert.deepEqual([status, text.length], [200, ANSWER_BYTES_MAX])
})

test('a receiver that is silent, closes or does not listen gives a reason', async (t) => {
  const { port } = await listen(t, (request) => void (request.url === '/close' && request.socket.destroy()))
  const addresses = [{ address: '127.0.0.1', family: 4 }]
  const send = (path: string, at = port) =>
    post(new URL(`http://127.0.0.1:${at}${path}`), {
      ...{ headers: {}, body: '{}', addresses, signal: NEVER, timeoutMs: 100 },
    })
  await assert.rejects(send('/silent'), /^Error: no answer within 0.1 s$/)
  await assert.rejects(send('/close'), /socket hang up|ECONNRESET/)
  await assert.rejects(send('/', 1), /ECONNREFUSED/)
})
