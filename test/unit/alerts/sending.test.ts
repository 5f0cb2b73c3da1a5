import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcp } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type DestinationRefusedError, Destinations } from '../../../src/alerts/sending/destinations.ts'
import { Mailer } from '../../../src/alerts/sending/mail.ts'
import { ANSWER_BYTES_MAX, post } from '../../../src/alerts/sending/post.ts'
import { resolveHost } from '../../../src/alerts/sending/resolve-host.ts'
import { newWebhookSecret, signedHeaders } from '../../../src/alerts/sending/signature.ts'
import { SETTINGS } from '../../../src/config/settings.ts'
import { selfSigned, startTls } from '../../support/certificate.ts'
import { DnsServer } from '../../support/dns-server.ts'
import { temporaryFolder } from '../../support/enrichment-data.ts'
import { startMailServer } from '../../support/mail.ts'

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
  ...[
    '168.63.129.16',
    '[::ffff:168.63.129.16]',
    '[64:ff9b::a83f:8110]',
    '[2002:a83f:8110::]',
    '192.0.0.9',
    '192.0.0.10',
  ],
  ...['192.31.196.1', '192.52.193.1', '192.175.48.1', '[2001:1::1]', '[2001:4:112::1]', '[2620:4f:8000::1]'],
  ...['[64:ff9b:1::a00:1]', '255.255.255.255', '240.0.0.1', '198.18.0.1', '192.0.2.1', '[2001:db8::1]', '[5f00::1]'],
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
  await assert.rejects(destinations.read('https://bad.example/'), (error: Error) => {
    assert.match(error.message, /^bad\.example does not lead to a public address; WEBHOOK_PRIVATE=on/)
    assert.ok(!error.message.includes('fd00'), 'a tenant must not learn our network from it')
    assert.match((error as DestinationRefusedError).found, /^fd00::5 \(unique local\)$/)
    return true
  })
  await assert.rejects(destinations.read('https://none.example/'), /none.example has no address/)
})

test('an address of this machine is refused, also a public one, and embedded in IPv6', async () => {
  const ownAddresses = () => ['93.184.215.14', '2a00:1450:4001:82b::200e', 'fe80::1%eth0']
  const destinations = new Destinations({ allowsPrivate: false, ownAddresses })
  for (const host of ['93.184.215.14', '[2a00:1450:4001:82b:0::200e]', '[64:ff9b::5db8:d70e]']) {
    await assert.rejects(destinations.read(`https://${host}/`), /is not a public address \(this machine\)/)
  }
  await destinations.read('https://93.184.215.15/')
})

test('a name comes from the hosts file, else from the name servers, and waits no longer than its signal', async (t) => {
  const server = await DnsServer.start(t)
  server.reply('A', 'hook.example', [
    { type: 'A', name: 'hook.example', data: '93.184.215.14' },
    { type: 'A', name: 'hook.example', data: '93.184.215.15' },
  ])
  server.reply('A', 'dark.example', 'silent')
  server.reply('AAAA', 'dark.example', 'silent')
  const dir = await temporaryFolder(t)
  const hostsFile = join(dir, 'hosts')
  await writeFile(
    hostsFile,
    '# 10.0.0.1 hook.example\n127.0.0.1\tlocalhost\n10.0.0.7 Inner.example inner # hook.example\n::1 localhost\n',
  )
  const resolve = (host: string, signal = NEVER, file = hostsFile) =>
    resolveHost(host, signal, { servers: [server.address], hostsFile: file })
  assert.deepEqual(await resolve('inner'), [{ address: '10.0.0.7', family: 4 }])
  assert.deepEqual(await resolve('inner.EXAMPLE'), [{ address: '10.0.0.7', family: 4 }])
  assert.deepEqual(await resolve('localhost'), [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ])
  assert.deepEqual(server.queries, [], 'the hosts file comes first')
  assert.deepEqual((await resolve('hook.example')).map(({ address }) => address).sort(), [
    '93.184.215.14',
    '93.184.215.15',
  ])
  assert.deepEqual((await resolve('hook.example', NEVER, join(dir, 'none'))).length, 2, 'a missing hosts file is empty')
  await assert.rejects(resolve('none.example'), { code: 'ENOTFOUND' })

  const destinations = new Destinations({ allowsPrivate: true, resolve })
  const began = performance.now()
  const ofDark = destinations.addressesOf(new URL('http://dark.example/'), AbortSignal.timeout(50))
  await assert.rejects(ofDark, /^InputError: dark\.example cannot be resolved: the name servers do not answer in time$/)
  assert.ok(performance.now() - began < 2_000)
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
  const addresses = await destinations.addressesOf(url, NEVER)
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

const MAIL = { id: 'msg_1', to: 'anna@site.example', subject: 'Hello', text: 'Hello' }

test('an abort ends a mail at a server that is silent, with its connection', async (t) => {
  const closed: Promise<unknown>[] = []
  const server = createTcp(
    (socket) =>
      void closed.push(
        once(
          socket.on('error', () => {}),
          'close',
        ),
      ),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  const mailer = new Mailer({ url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, from: 'a@b.example' })
  const abort = new AbortController()
  const sent = mailer.send(MAIL, abort.signal)
  sent.catch(() => {})
  await once(server, 'connection')
  abort.abort(new Error('the sender stops'))
  await assert.rejects(sent)
  assert.equal(closed.length, 1)
  await closed[0]
})

test('a mailer that could not begin works for the next mail', async (t) => {
  const smtp = await startMailServer(t)
  let reads = 0
  const mailer = new Mailer({
    from: 'a@b.example',
    get url() {
      if (reads++ === 0) throw new Error('not yet')
      return smtp.url
    },
  })
  await assert.rejects(mailer.send(MAIL, NEVER), /not yet/)
  assert.match(await mailer.send(MAIL, NEVER), /250 kept as 1/)
})

test('a webhook to a server with a certificate of its own says why, and names no setting', async (t) => {
  // The port after it is never reached: the certificate is refused before.
  const port = await startTls(t, await selfSigned(await temporaryFolder(t)), 1)
  const addresses: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }]
  const sent = post(new URL(`https://localhost:${port}/`), { headers: {}, body: '{}', addresses, signal: NEVER })
  await assert.rejects(sent, (error: Error) => {
    assert.equal(error.message, "the authority of the server's certificate is not known here")
    const names = ['NODE_EXTRA_CA_CERTS', ...Object.values(SETTINGS).map(({ env }) => env)]
    assert.deepEqual(
      names.filter((name) => error.message.includes(name)),
      [],
    )
    return true
  })
})
