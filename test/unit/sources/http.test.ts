import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { SourceFacts } from '../../../schemas/api-key.ts'
import { NO_PAGE_LINE } from '../../../src/pipeline/sources/batch/read-chunk.ts'
import { jsonFacts } from '../../../src/pipeline/sources/http/commands/options.ts'
import { EntryReader, entryFormat } from '../../../src/pipeline/sources/http/entries.ts'
import { PRESETS } from '../../../src/pipeline/sources/http/presets.ts'
import { http } from '../../../src/pipeline/sources/http.ts'

function linesOf(
  body: string,
  facts: Pick<SourceFacts, 'preset' | 'map' | 'all'> = {},
  firehoseRequestId = '',
): string[] {
  const reader = new EntryReader(entryFormat(facts), {
    addressOf: ({ ip }) => ip,
    firehoseRequestId,
    hold() {},
  })
  return [...reader.push(Buffer.from(body)), ...reader.end()].flat()
}

function eventsOf(...args: Parameters<typeof linesOf>) {
  return linesOf(...args).map((line) => JSON.parse(line))
}

test('Cloudflare: its fields become an event, credentials are dropped, and its test upload is none', () => {
  const entry = {
    ClientIP: '203.0.113.7',
    RayID: '8c1',
    EdgeStartTimestamp: 1_795_680_000_123_456_789n,
    ClientRequestScheme: 'https',
    ClientRequestHost: 'acme.com',
    ClientRequestURI: '/pricing?utm_source=x',
    ClientRequestReferer: 'https://example.org/',
    ClientRequestUserAgent: 'Mozilla/5.0',
    Cookies: { session: 'secret' },
    ClientASN: 64_500,
  }
  const json = JSON.stringify(entry, (_, value) => (typeof value === 'bigint' ? `#${value}` : value))
  const facts = { preset: 'cloudflare' }
  const body = `{"content":"tests"}\n${json.replace(/"#(\d+)"/, '$1')}\n`
  assert.deepEqual(
    eventsOf(body, facts),
    [
      {
        ip: '203.0.113.7',
        event_id: '8c1',
        timestamp: '2026-11-26T08:00:00.123Z',
        event_type: 'request',
        properties: { ClientRequestScheme: 'https', ClientASN: 64_500, user_agent: 'Mozilla/5.0' },
        url: 'https://acme.com/pricing?utm_source=x',
        referrer: 'https://example.org/',
        utm_source: 'x',
      },
    ].map(({ properties: { ClientRequestScheme: _, ...properties }, ...event }) => ({ ...event, properties })),
  )
  for (const time of ['"2026-11-26T08:00:00Z"', '1795680000']) {
    const [event] = eventsOf(`{"ClientIP":"::1","EdgeStartTimestamp":${time}}`, facts)
    assert.equal(Date.parse(event.timestamp), Date.UTC(2026, 10, 26, 8))
  }
})

test('Vector and Fluent Bit: host is the address of parse_apache_log and apache2, and the name of a machine elsewhere', () => {
  const cases: [entry: object, ip: string | undefined, host: string | undefined][] = [
    [{ host: '17.253.144.10', request: 'GET /p HTTP/1.1', status: 200 }, '17.253.144.10', undefined],
    [{ host: '2001:db8::1', code: '200', path: '/p' }, '2001:db8::1', undefined],
    [{ host: 'web-1', message: 'started' }, undefined, 'web-1'],
    [{ host: 'web-1', client: '17.0.0.1', remote: '17.0.0.1' }, '17.0.0.1', 'web-1'],
    [{ host: '17.9.9.9', client: '17.0.0.1', remote: '17.0.0.1' }, '17.0.0.1', '17.9.9.9'],
    [{ host: 7 }, undefined, undefined],
  ]
  for (const preset of ['vector', 'fluent-bit']) {
    for (const [entry, ip, host] of cases) {
      const [event] = eventsOf(JSON.stringify(entry), { preset })
      assert.equal(event.ip, ip, `${preset} ${JSON.stringify(entry)}`)
      if (host !== undefined) assert.equal(event.properties.host, host)
    }
  }
})

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const NGINX = { map: { ip: 'remote_addr', status: 'status', request: 'request', user_agent: 'http_user_agent' } }

/** A page view of each sender, and the fields of its request, in the shape of its record. */
const SENDERS: readonly {
  readonly facts: Pick<SourceFacts, 'preset' | 'map'>
  record(request: { status: number; method: string; path: string; agent: string; type?: string }): object
}[] = [
  {
    facts: { preset: 'cloudflare' },
    record: ({ status, method, path, agent, type }) => ({
      ...{ ClientIP: '17.0.0.1', ClientRequestHost: 'acme.com', ClientRequestURI: path, ClientRequestUserAgent: agent },
      ...{ EdgeResponseStatus: status, ClientRequestMethod: method, EdgeResponseContentType: type },
    }),
  },
  {
    facts: { preset: 'fastly' },
    record: ({ status, method, path, agent }) => ({
      ...{ ip: '17.0.0.1', url: `https://acme.com${path}`, user_agent: agent, status, method },
    }),
  },
  {
    facts: { preset: 'fastly' },
    record: ({ status, method, path, agent }) => ({
      ...{ client_ip: '17.0.0.1', host: 'acme.com', url: path, request_user_agent: agent },
      ...{ request_method: method, response_status: status },
    }),
  },
  {
    facts: { preset: 'vercel' },
    record: ({ status, method, path, agent }) => ({
      ...{ id: '1', source: 'static' },
      proxy: { clientIp: '17.0.0.1', host: 'acme.com', path, userAgent: [agent], statusCode: status, method },
    }),
  },
  {
    facts: { preset: 'firehose' },
    record: ({ status, method, path, agent, type }) => ({
      ...{ date: '2026-11-28', time: '10:00:00', 'c-ip': '17.0.0.1', 'cs-uri-stem': path, 'cs-uri-query': '-' },
      ...{ 'cs-method': method, 'sc-status': String(status), 'cs(User-Agent)': encodeURIComponent(agent) },
      ...(type !== undefined && { 'sc-content-type': type.replaceAll(' ', '%20') }),
    }),
  },
  {
    facts: { preset: 'fluent-bit' },
    record: ({ status, method, path, agent }) => ({
      ...{ date: 1_795_680_000.5, remote: '17.0.0.1', host: '-', user: '-', method, path, code: String(status) },
      ...{ size: '20', referer: '-', agent },
    }),
  },
  {
    facts: { preset: 'fluent-bit' },
    record: ({ status, method, path, agent }) => ({
      ...{ host: '17.0.0.1', user: '-', method, path, code: String(status), size: '20', referer: '-', agent },
    }),
  },
  {
    facts: { preset: 'vector' },
    record: ({ status, method, path, agent }) => ({
      ...{ client: '17.0.0.1', user: '-', request: `${method} ${path} HTTP/1.1`, method, path, status, agent },
    }),
  },
  {
    facts: { preset: 'vector' },
    record: ({ status, method, path, agent }) => ({
      ...{ host: '17.0.0.1', message: `${method} ${path} HTTP/1.1`, status, agent },
    }),
  },
  {
    facts: NGINX,
    record: ({ status, method, path, agent }) => ({
      ...{
        remote_addr: '17.0.0.1',
        request: `${method} ${path} HTTP/2.0`,
        status: String(status),
        http_user_agent: agent,
      },
    }),
  },
]

test('page views are the same for every sender of logs: method, status, ending, type and user agent', () => {
  const page = { status: 200, method: 'GET', path: '/pricing', agent: BROWSER }
  const cases: [change: Partial<typeof page> & { type?: string }, isPage: boolean][] = [
    [{}, true],
    [{ status: 304 }, true],
    [{ path: '/report.pdf' }, true],
    [{ path: '/a.b/c' }, true],
    [{ status: 404 }, false],
    [{ status: 301 }, false],
    [{ status: 500 }, false],
    [{ method: 'HEAD' }, false],
    [{ method: 'POST' }, false],
    [{ path: '/s.css' }, false],
    [{ path: '/logo.PNG?v=1' }, false],
    [{ agent: '-' }, false],
  ]
  for (const { facts, record } of SENDERS) {
    for (const [change, isPage] of cases) {
      const body = JSON.stringify(record({ ...page, ...change }))
      const [line] = linesOf(body, facts)
      assert.equal(line !== NO_PAGE_LINE, isPage, body)
      if (isPage) assert.equal(JSON.parse(line!).ip, '17.0.0.1', body)
      const [stored] = eventsOf(body, { ...facts, all: true })
      assert.equal(stored.ip, '17.0.0.1', body)
      assert.match(stored.url, new RegExp(`${(change.path ?? page.path).replace('?', '[?]')}$`), body)
      assert.ok(!('referrer' in stored) && stored.properties?.referer === undefined, body)
    }
  }
  const typed = [
    ['/data', 'application/json', false],
    ['/s.css', 'text/html; charset=utf-8', true],
    ['/feed', '-', true],
  ] as const
  for (const { facts, record } of SENDERS.filter(({ facts: { preset } }) => /cloudflare|firehose/.test(preset ?? ''))) {
    for (const [path, type, isPage] of typed) {
      const body = JSON.stringify(record({ ...page, path, type }))
      assert.equal(linesOf(body, facts)[0] !== NO_PAGE_LINE, isPage, body)
    }
  }
})

test('a body that ends with a part of a line counts it as rejected', () => {
  const cri = (tag: string, text: string) => `2026-11-28T20:34:46.12Z stdout ${tag} ${text}\n`
  const line = '17.0.0.1 - - [28/Nov/2026:10:01:02 +0000] "GET /p HTTP/1.1" 200 10 "-" "UA"'
  const lines = linesOf(cri('F', line) + cri('P', line.slice(0, 30)))
  assert.equal(lines.length, 2)
  assert.match(lines[1]!, /its rest is missing/)
})

test('an entry without status and method is stored, and so is an event of a program', () => {
  const cases: [entry: object, facts?: Pick<SourceFacts, 'preset' | 'map'>][] = [
    [{ ip: '17.0.0.1', url: '/s.css', status: 404, method: 'POST' }],
    [{ ip: '17.0.0.1', url: '/s.css' }, { map: { status: 'status', method: 'method' } }],
    [{ client: '17.0.0.1', path: '/s.css' }, { preset: 'vector' }],
    [{ client: '17.0.0.1', status: 'active', message: 'POST it' }, { preset: 'vector' }],
    [{ client: '17.0.0.1', message: 'USER logged in' }, { preset: 'vector' }],
    [{ client: '17.0.0.1', status: 1 }, { preset: 'vector' }],
    [{ client: '17.0.0.1', status: 20_001 }, { preset: 'vector' }],
    [{ client: '17.0.0.1', method: 'card' }, { preset: 'vector' }],
    [{ remote: '17.0.0.1', code: 7 }, { preset: 'fluent-bit' }],
    [{ ip: '17.0.0.1', event_type: 'signup', status: 500, method: 'POST' }, { preset: 'vector' }],
    [{ ClientIP: '17.0.0.1', ClientRequestPath: '/s.css', EdgeResponseStatus: null }, { preset: 'cloudflare' }],
  ]
  for (const [entry, facts] of cases) {
    const [event] = eventsOf(JSON.stringify(entry), facts)
    assert.equal(event.ip, '17.0.0.1', JSON.stringify(entry))
    if ('status' in entry) assert.equal(event.properties.status, entry.status)
  }
  const mapped = { map: { status: 'res.code' }, preset: 'vector' }
  assert.deepEqual(linesOf('{"ip":"17.0.0.1","event_type":"api","res":{"code":"404 Not Found"}}', mapped), [
    NO_PAGE_LINE,
  ])
  for (const request of [{ method: 'post' }, { status: 999 }, { message: 'HEAD / HTTP/1.1' }]) {
    assert.deepEqual(linesOf(JSON.stringify({ client: '17.0.0.1', ...request }), { preset: 'vector' }), [NO_PAGE_LINE])
  }
  assert.deepEqual(linesOf('{"proxy":{"clientIp":"::1","statusCode":-1}}', { preset: 'vercel' }), [NO_PAGE_LINE])
})

test('Firehose: the query joins the page, texts are decoded, and WAF stops are no visits', () => {
  const facts = { preset: 'firehose' }
  const cloudfront = (more: object) =>
    JSON.stringify({ 'c-ip': '17.0.0.1', 'sc-status': '200', 'cs-method': 'GET', ...more })
  const pages: [more: object, url: string | undefined, source?: string][] = [
    [{ 'cs-uri-stem': '/pricing', 'cs-uri-query': 'utm_source=x' }, '/pricing?utm_source=x', 'x'],
    [{ 'cs-uri-stem': '/pricing', 'cs-uri-query': '-' }, '/pricing'],
    [
      {
        'cs-uri-stem': '/caf%25C3%25A9',
        'cs-protocol': 'https',
        'x-host-header': 'acme.com',
        'cs-uri-query': 'q=a%2520b',
      },
      'https://acme.com/caf%C3%A9?q=a%20b',
    ],
    [{ 'cs-uri-stem': '-' }, undefined],
  ]
  for (const [more, url, source] of pages) {
    const [event] = eventsOf(cloudfront(more), facts)
    assert.deepEqual([event.url, event.utm_source], [url, source], JSON.stringify(more))
    assert.equal(event.properties['cs-uri-query'], undefined)
  }
  const agents: [sent: string, user_agent: string | undefined][] = [
    [encodeURIComponent(BROWSER), BROWSER],
    [encodeURIComponent(encodeURIComponent(BROWSER)), BROWSER],
    [BROWSER, BROWSER],
    ['Broken%20%E0%A4%A', 'Broken %E0%A4%A'],
  ]
  for (const [sent, agent] of agents) {
    const [event] = eventsOf(cloudfront({ 'cs(User-Agent)': sent, 'cs(Referer)': 'https://x.org/a%2520b' }), facts)
    assert.deepEqual([event.properties.user_agent, event.referrer], [agent, 'https://x.org/a%20b'])
  }
  const waf = (action: string, more: object = {}) =>
    JSON.stringify({
      ...{ timestamp: 1_795_680_000_000, action },
      httpRequest: {
        ...{
          clientIp: '17.0.0.1',
          httpMethod: 'GET',
          host: 'acme.com',
          uri: '/p',
          args: 'utm_source=x',
          requestId: 'r',
        },
        headers: [
          { name: 'user-agent', value: BROWSER },
          { name: 'Cookie', value: 'session=secret' },
        ],
        ...more,
      },
    })
  const [event] = eventsOf(waf('ALLOW'), facts)
  assert.deepEqual(
    [event.url, event.utm_source, event.properties.user_agent],
    ['https://acme.com/p?utm_source=x', 'x', BROWSER],
  )
  assert.ok(!JSON.stringify(event).includes('secret'))
  assert.equal(eventsOf(waf('ALLOW', { args: '' }), facts)[0].url, 'https://acme.com/p')
  const stopped = ['BLOCK', 'CAPTCHA', 'CHALLENGE'].map((action) => waf(action))
  const others = [waf('ALLOW', { httpMethod: 'POST' }), waf('ALLOW', { uri: '/s.js' }), waf('ALLOW', { headers: [] })]
  assert.deepEqual(linesOf([...stopped, ...others].join('\n'), facts), Array(6).fill(NO_PAGE_LINE))
  assert.equal(eventsOf(stopped[0]!, { ...facts, all: true })[0].ip, '17.0.0.1')
})

test('Vercel: log entries of a request have one id, and only requests are events', () => {
  const proxy = { clientIp: '203.0.113.7', timestamp: 1_795_680_000_000, host: 'acme.com', path: '/a', scheme: 'https' }
  const entry = { id: '1', requestId: 'r1', source: 'lambda', message: 'secret', proxy, host: 'x.vercel.app' }
  const events = eventsOf(
    JSON.stringify([
      { ...entry, proxy: { ...proxy, userAgent: ['Mozilla/5.0'] } },
      { ...entry, id: '2', requestId: undefined, source: 'static' },
      { ...entry, source: 'build' },
      { ...entry, source: 'firewall' },
      { ...entry, proxy: undefined },
    ]),
    { preset: 'vercel' },
  )
  assert.deepEqual(
    events.map(({ event_id, ip, url }) => [event_id, ip, url]),
    [
      ['r1', '203.0.113.7', 'https://acme.com/a'],
      ['2', '203.0.113.7', 'https://acme.com/a'],
    ],
  )
  assert.equal(events[0].properties.user_agent, 'Mozilla/5.0')
  assert.equal(events[0].properties.message, undefined)
})

test('Firehose: records are base64, perhaps gzip, and an attempt again has the same ids', () => {
  const record = (data: string | Buffer) => ({ data: Buffer.from(data).toString('base64') })
  const body = JSON.stringify({
    requestId: 'req-1',
    timestamp: 1,
    records: [
      record('{"ip":"203.0.113.7"}\n{"ip":"203.0.113.8","event_id":"own"}'),
      record(gzipSync('{"ip":"203.0.113.9"}')),
      record('nope'),
    ],
  })
  const lines = linesOf(body, {}, 'req-1')
  assert.deepEqual(lines, linesOf(body, {}, 'req-1'))
  assert.deepEqual(lines, [
    '{"ip":"203.0.113.7","event_id":"req-1:1"}',
    '{"ip":"203.0.113.8","event_id":"own"}',
    '{"ip":"203.0.113.9","event_id":"req-1:3"}',
    'nope',
  ])
})

test('Firehose: one record at a time is decoded, and its bytes are counted while its lines are used', () => {
  const data = gzipSync(`{"ip":"203.0.113.7","x":"${' '.repeat(1_000_000)}"}`)
  const records = Array(5).fill({ data: data.toString('base64') })
  let held = 0
  const hold = (bytes: number) => {
    held += bytes
  }
  const reader = new EntryReader(entryFormat({}), { addressOf: ({ ip }) => ip, firehoseRequestId: 'r', hold })
  const counted: number[] = []
  for (const [line] of reader.push(Buffer.from(JSON.stringify({ records })))) {
    counted.push(held)
    assert.ok(line!.length > 1_000_000 && held > 1_000_000 && held < 2_000_000)
  }
  assert.deepEqual([counted.length, held], [5, 0])
  const full = new EntryReader(entryFormat({}), {
    addressOf: ({ ip }) => ip,
    firehoseRequestId: 'r',
    hold() {
      throw new Error('full')
    },
  })
  assert.throws(() => [...full.push(Buffer.from(JSON.stringify({ records })))], /full/)
})

test('entries of a body and of a record are read a few at a time', (t) => {
  const entries = '{"ip":"203.0.113.7"}\n'.repeat(5_000)
  const record = `{"records":[{"data":"${gzipSync(entries).toString('base64')}"}]}`
  for (const [body, firehoseRequestId] of [
    [entries, ''],
    [record, 'r'],
  ] as const) {
    const reader = new EntryReader(entryFormat({}), { addressOf: ({ ip }) => ip, firehoseRequestId, hold() {} })
    const parse = t.mock.method(JSON, 'parse')
    let [lines, most] = [0, 0]
    for (const part of reader.push(Buffer.from(body))) {
      lines += part.length
      most = Math.max(most, parse.mock.callCount())
      parse.mock.resetCalls()
    }
    parse.mock.restore()
    assert.equal(lines, 5_000)
    assert.ok(most < 500, `${most} entries were parsed at once`)
  }
})

test("a source's own mapping goes before its preset's, and fields have their own names at last", () => {
  const facts = { preset: 'vector', map: { ip: 'peer' } }
  const read = (entry: object) => eventsOf(JSON.stringify(entry), facts)[0].ip
  assert.equal(read({ peer: '203.0.113.7:80', client: '203.0.113.8', ip: '203.0.113.9' }), '203.0.113.7')
  assert.equal(read({ client: '203.0.113.8', ip: '203.0.113.9' }), '203.0.113.8')
  assert.equal(read({ ip: '203.0.113.9' }), '203.0.113.9')
})

test('entries that are no events stay lines that are rejected, on one line each', () => {
  const deep = `{"a":${'['.repeat(127)}${']'.repeat(127)}}`
  const lines = linesOf(`[{"a"\n:},5,${deep},{"ip":"203.0.113.7"}]`)
  assert.equal(lines.length, 4)
  assert.deepEqual([lines[0], lines[1]], ['{"a" :}', '5'])
  assert.match(lines[2]!, /^\0row is nested more than 128 levels deep$/)
  assert.throws(() => linesOf('<xml>\n</xml>'), /nothing in the body is JSON/)
  assert.deepEqual(linesOf('oops\n{"ip":"::1"}'), ['oops', '{"ip":"::1"}'])
})

const AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const logLine = (ip: string, request = 'GET /p?q=1 HTTP/1.1', status = 200) =>
  `${ip} - - [28/Nov/2026:10:01:02 +0000] "${request}" ${status} 20 "-" "${AGENT}"`
const seen = (lines: readonly string[]) =>
  lines.map((line) => JSON.parse(line)).map(({ ip, url, timestamp }) => [ip, url, timestamp])

test('lines of a known log are read as the log is: page views only, others with their reason', () => {
  const body = [
    logLine('17.0.0.1'),
    logLine('17.0.0.2', 'GET /s.css HTTP/1.1'),
    logLine('17.0.0.3', 'GET /gone HTTP/1.1', 404),
    'nope',
    '{"ip":"17.0.0.4"}',
    logLine('17.0.0.5').replace('28/Nov', '28/Nop'),
  ].join('\n')
  assert.deepEqual(linesOf(body).filter((line) => line === NO_PAGE_LINE).length, 2)
  assert.equal(linesOf(body, { all: true }).filter((line) => line.startsWith('{')).length, 4)
  const lines = linesOf(body).filter((line) => line !== NO_PAGE_LINE)
  assert.deepEqual(seen([lines[0]!, lines[2]!]), [
    ['17.0.0.1', '/p?q=1', '2026-11-28T10:01:02+00:00'],
    ['17.0.0.4', undefined, undefined],
  ])
  assert.equal(JSON.parse(lines[0]!).properties.user_agent, AGENT)
  assert.deepEqual([lines[1], lines[3], lines.length], ['nope', '\0row has an unreadable time', 4])
  const common = '17.0.0.1 - - [28/Nov/2026:10:01:02 +0000] "GET /a HTTP/1.0" 200 5'
  assert.deepEqual(seen(linesOf(`${common}\r\n`)), [['17.0.0.1', '/a', '2026-11-28T10:01:02+00:00']])
  const cri = `2026-11-28T20:34:46.12Z stdout F ${logLine('17.0.0.1')}`
  assert.deepEqual(seen(linesOf(`${cri}\n${cri}`).slice(1)), [['17.0.0.1', '/p?q=1', '2026-11-28T10:01:02+00:00']])
  const docker = JSON.stringify({ log: `${logLine('17.0.0.6')}\n`, stream: 'stdout', kubernetes: { pod_name: 'web' } })
  const other = JSON.stringify({ log: 'started\n', stream: 'stdout' })
  assert.deepEqual(
    seen(linesOf(`${docker}\n${other}\n${docker}`)).map(([ip]) => ip),
    ['17.0.0.6', undefined, '17.0.0.6'],
  )
  const iis = '#Software: IIS\n#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem sc-status\n'
  const hits = '2026-11-28 10:01:02 17.0.0.1 GET /a 200\n2026-11-28 10:01:03 17.0.0.2 GET /b 200'
  assert.deepEqual(seen(linesOf(iis + hits)), [
    ['17.0.0.1', '/a', '2026-11-28T10:01:02Z'],
    ['17.0.0.2', '/b', '2026-11-28T10:01:03Z'],
  ])
  assert.deepEqual(linesOf('#Version: 1.0\n'), [])
  assert.throws(() => linesOf(`nope\n17.0.0.1 ${'x'.repeat(70_000)}`), /lines of an access log/)
})

test('a record of Firehose may hold lines of a log, and objects with nothing between them', () => {
  const record = (text: string) => ({ data: Buffer.from(text).toString('base64') })
  const records = [
    record(`${logLine('17.0.0.1')}\n${logLine('17.0.0.2')}\n`),
    record('{"ip":"17.0.0.3"}{"ip":"17.0.0.4"}'),
  ]
  const events = eventsOf(JSON.stringify({ records }), {}, 'r')
  assert.deepEqual(
    events.map(({ ip, event_id }) => `${ip} ${event_id}`),
    ['17.0.0.1 r:1', '17.0.0.2 r:2', '17.0.0.3 r:3', '17.0.0.4 r:4'],
  )
})

/** As CloudWatch's subscription filters send them. */
const messages = (type: string, ...texts: readonly string[]) =>
  JSON.stringify({
    ...{ owner: '123456789012', logGroup: '/aws/apigateway/shop', logStream: 'a', subscriptionFilters: ['ipid'] },
    messageType: `${type}_MESSAGE`,
    logEvents: texts.map((message, i) => ({
      id: `3195310660696698337880902507980421114328961542429EXAMPLE${i}`,
      timestamp: Date.UTC(2026, 10, 28, 10),
      message,
    })),
  })

test('the messages of CloudWatch are entries, with their id and time; its control messages are none', () => {
  const data = messages(
    'DATA',
    logLine('17.0.0.1'),
    '{"ip":"17.0.0.2"}',
    '{"ip":"17.0.0.3","event_id":"own"}',
    'START RequestId: 1',
  )
  const control = messages('CONTROL', 'CWL CONTROL MESSAGE: Checking health of destination Firehose.')
  const facts = (lines: readonly string[]) =>
    lines.map((line) => {
      if (!line.startsWith('{')) return line
      const { ip, event_id, timestamp } = JSON.parse(line)
      return `${ip} ${event_id.slice(-8)} ${timestamp}`
    })
  const expected = [
    '17.0.0.1 EXAMPLE0 2026-11-28T10:01:02+00:00',
    '17.0.0.2 EXAMPLE1 2026-11-28T10:00:00.000Z',
    '17.0.0.3 own 2026-11-28T10:00:00.000Z',
    '\0row is neither JSON nor a line of a known access log',
  ]
  assert.deepEqual(facts(linesOf(data)), expected)
  assert.deepEqual(facts(linesOf(`${data}${control}\n${data}`)), [...expected, ...expected])
  const records = [control, data].map((text) => ({ data: gzipSync(text).toString('base64') }))
  assert.deepEqual(facts(linesOf(JSON.stringify({ records }), {}, 'r')), expected)
  assert.deepEqual(linesOf(control), [])
  assert.equal(linesOf(messages('DATA', 'START', 'END')).length, 2, 'it is not refused, so that it is not repeated')
  const many = messages(
    'DATA',
    ...Array.from({ length: 9_000 }, (_, i) => `{"ip":"17.0.0.1","n":${i},"text":"${'x'.repeat(80)}"}`),
  )
  assert.equal(
    linesOf(JSON.stringify({ records: [{ data: gzipSync(many).toString('base64') }] }), {}, 'r').length,
    9_000,
  )
})

test('one entry that is no JSON is rejected by itself', () => {
  for (const body of [
    '[{"ip":"17.0.0.1"},{"ip":"17.0.0.2","price":NaN},{"ip":"17.0.0.3"}]',
    '{"ip":"17.0.0.1"}\n{"ip":"17.0.0.2","price":-Infinity}\n{"ip":"17.0.0.3"}',
    '{"ip":"17.0.0.1"}{"ip":"17.0.0.2","price":nan}{"ip":"17.0.0.3"}',
  ]) {
    const lines = linesOf(body)
    assert.deepEqual([lines.length, lines[0], lines[2]], [3, '{"ip":"17.0.0.1"}', '{"ip":"17.0.0.3"}'])
    assert.throws(() => JSON.parse(lines[1]!))
  }
})

test('options that do not fit the kind are refused, and none removes them', () => {
  const tool = http.tool!
  assert.deepEqual(jsonFacts(tool, { map: ['ip=a.b'], preset: 'vercel', verify: 'abc' }), {
    map: { ip: 'a.b' },
    preset: 'vercel',
    verify: 'abc',
  })
  assert.deepEqual(jsonFacts(tool, { map: ['none'], preset: 'none', verify: 'none' }), {
    map: {},
    preset: '',
    verify: '',
  })
  assert.deepEqual([jsonFacts(tool, { all: true }), jsonFacts(tool, { all: false })], [{ all: true }, { all: false }])
  assert.throws(() => jsonFacts(tool, { preset: 'logpush' }), /give one of cloudflare, fastly/)
  assert.throws(() => jsonFacts(tool, { verify: 'a b' }), /no blanks/)
  assert.throws(
    () => jsonFacts({ path: () => '', setup: () => [] }, { map: [] }),
    /--map is not an option of this kind/,
  )
})

/** All that a person pastes for a source. */
function pasted(base: string, facts?: SourceFacts): string {
  return http
    .tool!.setup({ base, id: 'src_id', key: 'src_key' }, facts)
    .map(({ code }) => code)
    .join('\n')
}

test('every preset has a text to paste, with the address in it', () => {
  for (const { name } of PRESETS) {
    const text = pasted('https://ipid.example:8443', { kind: 'http', address: 'auto', preset: name })
    assert.match(
      text,
      name === 'fluent-bit' ? /Port {13}8443\n +URI {14}\/s\/http\/src_key/ : /ipid\.example:8443\/s\/http\/src_key/,
    )
  }
  assert.match(pasted('http://h'), /curl --data-binary @events.ndjson http:\/\/h\/s\/http\/src_key/)
})
