import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatNamed, formatOfLines } from '../../../src/pipeline/sources/formats/formats.ts'

const UA = 'Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0'
const AT = '2026-11-28T10:01:02.000Z'

interface Right {
  readonly ip?: string
  readonly url?: string
  readonly agent?: string
  readonly referrer?: string
  readonly skipped?: string
  readonly rejected?: RegExp
}

/** Each line alone is recognised as the format, and read with these values. */
function check(name: string, cases: readonly (readonly [line: string, right: Right])[]): void {
  for (const [line, right] of cases) {
    assert.equal(formatOfLines([line])?.name, name, line)
    const result = formatNamed(name)!.reader({ all: false, nowMs: 0 }).read(line)
    if (right.skipped !== undefined) assert.deepEqual(result, { skipped: right.skipped }, line)
    else if (right.rejected !== undefined)
      assert.match('rejected' in result ? result.rejected : '', right.rejected, line)
    else {
      assert.ok('event' in result, `${line} ${JSON.stringify(result)}`)
      const { ip, page, properties, timestamp } = result.event
      assert.deepEqual(
        {
          ip,
          url: page?.url,
          agent: properties?.user_agent,
          referrer: page?.referrer,
          at: new Date(String(timestamp)).toISOString(),
        },
        { agent: UA, referrer: undefined, ...right, at: AT },
        line,
      )
    }
  }
}

test('HAProxy: option httplog, with captured headers and without', () => {
  const line = (peer: string, headers: string, request = 'GET /p?a=1 HTTP/1.1', frontend = 'web') =>
    `${peer} [28/Nov/2026:10:01:02.000] ${frontend} app/n1 0/0/0/1/1 200 123 - - ---- 1/1/0/0/0 0/0 ${headers}"${request}"`
  check('haproxy', [
    [line('17.0.0.1:51234', ''), { ip: '17.0.0.1', url: '/p?a=1', agent: undefined }],
    [line('2001:db8::1:51234', ''), { ip: '2001:db8::1', url: '/p?a=1', agent: undefined }],
    [
      line('10.0.0.5:51234', `{www.example.com|${UA}|https://a.b/|17.0.0.1:52614, 10.1.2.3} {text/html} `),
      { ip: '17.0.0.1', url: 'http://www.example.com/p?a=1', referrer: 'https://a.b/' },
    ],
    [line('17.0.0.9:51234', `{17.9.9.9|${UA}} `), { ip: '17.0.0.9', url: '/p?a=1' }],
    // A visitor chooses its Host and User-Agent, so two addresses that differ name nobody.
    [line('10.0.0.5:51234', `{17.9.9.9|${UA}|17.0.0.1} `), { ip: '10.0.0.5', url: '/p?a=1' }],
    [line('10.0.0.5:51234', '{17.9.9.9|17.9.9.8, 17.0.0.1} '), { ip: '10.0.0.5', url: '/p?a=1', agent: undefined }],
    [line('10.0.0.5:51234', `{17.0.0.1|${UA}|17.9.9.9, 17.0.0.1:443, 10.1.2.3} `), { ip: '17.0.0.1', url: '/p?a=1' }],
    [line('10.0.0.5:51234', `{10.0.0.7|${UA}|17.0.0.1} `), { ip: '17.0.0.1', url: '/p?a=1' }],
    [
      line('17.0.0.1:51234', `{www.example.com:8443|${UA}} `, undefined, 'web~'),
      { ip: '17.0.0.1', url: 'https://www.example.com:8443/p?a=1' },
    ],
    [
      line('17.0.0.1:51234', `{${UA}} `, 'GET https://www.example.com/caf#C3#A9 HTTP/2.0'),
      { ip: '17.0.0.1', url: 'https://www.example.com/café' },
    ],
    [line('17.0.0.1:51234', '', 'POST /p HTTP/1.1'), { skipped: 'no page view' }],
    [line('17.0.0.1:51234', '', '<BADREQ>'), { skipped: 'no page view' }],
    [line('17.0.0.1:51234', '').replace(' 200 ', ' -1 '), { skipped: 'no page view' }],
  ])
  const tcp = '17.0.0.1:51234 [28/Nov/2026:10:01:02.000] tcp app/n1 0/0/212 212 -- 0/0/0/0/0 0/0'
  assert.deepEqual(formatNamed('haproxy')!.reader({ all: true, nowMs: 0 }).read(tcp), { skipped: 'no HTTP request' })
})

test('JSON access logs: the usual names of nginx', () => {
  const nginx = (fields: object) =>
    JSON.stringify({ remote_addr: '17.0.0.1', status: 200, http_user_agent: UA, ...fields })
  const at = { time_iso8601: '2026-11-28T10:01:02+00:00' }
  const get = { request: 'GET /p?a=1 HTTP/1.1' }
  const right = { ip: '17.0.0.1', url: '/p?a=1' }
  check('json-access', [
    [nginx({ ...at, ...get, http_referer: 'https://a.b/' }), { ...right, referrer: 'https://a.b/' }],
    [nginx({ time_local: '28/Nov/2026:11:01:02 +0100', ...get, status: '200' }), right],
    [nginx({ msec: 1_795_860_062.0, ...get }), right],
    [
      nginx({ msec: '1795860062.000', request_method: 'GET', request_uri: '/p?a=1', server_name: 'a.b' }),
      { ...right, url: 'https://a.b/p?a=1' },
    ],
    [
      nginx({ '@timestamp': AT, method: 'GET', uri: '/p', args: 'a=1', http_host: 'a.b', scheme: 'http' }),
      { ...right, url: 'http://a.b/p?a=1' },
    ],
    [nginx({ ...at, ...get, server_name: '_' }), right],
    [nginx({ ...at, ...get, host: 'backend', http_host: 'www.a.b' }), { ...right, url: 'https://www.a.b/p?a=1' }],
    [nginx({ ...at, ...get, remote_addr: '10.0.0.5', http_x_forwarded_for: '17.0.0.1:52614, 10.1.2.3' }), right],
    [nginx({ ...at, ...get, http_x_forwarded_for: '17.9.9.9' }), right],
    [nginx({ ...at, ...get, remote_addr: 'unix:', http_x_forwarded_for: '17.0.0.1' }), right],
    [nginx({ ...at, ...get, http_user_agent: '' }), { skipped: 'no user agent' }],
    [nginx({ ...at, ...get, status: 404 }), { skipped: 'no page view' }],
    [nginx({ ...at, request: 'GET /s.css HTTP/1.1' }), { skipped: 'no page view' }],
    [nginx({ ...at, ...get, sent_http_content_type: 'application/json' }), { skipped: 'no page view' }],
    [nginx(get), { rejected: /no field with its time/ }],
    // Elastic's and Apache's usual names.
    [
      JSON.stringify({
        '@timestamp': AT,
        host: '10.0.0.9',
        clientip: '10.0.0.5',
        xff: '17.0.0.1',
        url: '/p?a=1',
        domain: 'a.b',
        status: '200',
        agent: UA,
      }),
      { ...right, url: 'https://a.b/p?a=1' },
    ],
    [
      JSON.stringify({
        time: AT,
        remoteIP: '17.0.0.1',
        request: '/p',
        query: 'a=1',
        method: 'GET',
        status: '200',
        userAgent: UA,
      }),
      { ...right },
    ],
  ])
  const id = (record: string) => {
    const result = formatNamed('json-access')!.reader({ all: false, nowMs: 0 }).read(record)
    return 'event' in result ? result.event.event_id : result
  }
  assert.equal(id(nginx({ ...at, ...get, request_id: 'c6ef3124' })), 'c6ef3124')
})

test('Envoy and Istio: default text and JSON', () => {
  const start = '[2026-11-28T10:01:02.000Z] "GET /p?a=1 HTTP/2"'
  const envoy = (forwarded: string, agent = UA) =>
    `${start} 200 - 0 512 12 11 "${forwarded}" "${agent}" "b5c1-1" "www.example.com" "10.0.0.1:8080"`
  const istio = (forwarded: string, peer: string) =>
    `${start} 200 - via_upstream - "-" 0 512 12 11 "${forwarded}" "${UA}" "b5c1-1" "www.example.com:80" "10.0.0.1:8080" outbound|80||web 10.0.0.2:1 10.0.0.3:8080 ${peer} - default`
  const json = (fields: object) =>
    JSON.stringify({
      ...{
        start_time: AT,
        method: 'GET',
        path: '/p?a=1',
        response_code: 200,
        authority: 'www.example.com',
        user_agent: UA,
      },
      ...{
        downstream_remote_address: '10.0.0.5:0',
        x_forwarded_for: '17.0.0.1',
        request_id: 'b5c1-1',
        bytes_sent: 512,
      },
      ...fields,
    })
  const url = 'https://www.example.com/p?a=1'
  check('envoy', [
    [envoy('17.0.0.1'), { ip: '17.0.0.1', url }],
    [envoy('17.9.9.9, 17.0.0.1:443, 10.0.0.7'), { ip: '17.0.0.1', url }],
    [envoy('-'), { ip: undefined, url }],
    [envoy('17.0.0.1', 'Mo"zilla"'), { ip: '17.0.0.1', url, agent: 'Mo"zilla"' }],
    [envoy('17.9.9.9" "x, 17.0.0.1'), { rejected: /quotes/ }],
    [envoy('17.0.0.1', 'x" "y'), { rejected: /quotes/ }],
    [envoy('17.0.0.1', '-'), { skipped: 'no user agent' }],
    [istio('17.0.0.1', '10.0.0.4:0'), { ip: '17.0.0.1', url: 'http://www.example.com/p?a=1' }],
    [istio('17.9.9.9', '17.0.0.1:50123'), { ip: '17.0.0.1', url: 'http://www.example.com/p?a=1' }],
  ])
  check('json-access', [
    [json({}), { ip: '17.0.0.1', url }],
    [json({ downstream_remote_address: '17.0.0.2:50123' }), { ip: '17.0.0.2', url }],
    [json({ user_agent: null }), { skipped: 'no user agent' }],
  ])
})

test('S3: server access logs', () => {
  const line = (operation: string, request: string, tls = 'ECDHE-RSA-AES128-GCM-SHA256', agent = `"${UA}"`) =>
    `${'79a59df900b949e5'.repeat(4)} bucket [28/Nov/2026:10:01:02 +0000] 17.0.0.1 - 3E57427F3EXAMPLE ${operation} p.html "${request}" 200 - 113 2662 7 6 "https://a.b/" ${agent} - s9lzHY= - ${tls} - bucket.s3.amazonaws.com TLSv1.2 - -`
  const right = { ip: '17.0.0.1', referrer: 'https://a.b/' }
  check('s3-access', [
    [
      line('REST.GET.OBJECT', 'GET /p.html?a=1 HTTP/1.1'),
      { ...right, url: 'https://bucket.s3.amazonaws.com/p.html?a=1' },
    ],
    [line('WEBSITE.GET.OBJECT', 'GET /p HTTP/1.1', '-'), { ...right, url: 'http://bucket.s3.amazonaws.com/p' }],
    [line('REST.GET.BUCKET', 'GET /?list-type=2 HTTP/1.1'), { skipped: 'no page view' }],
    [line('REST.PUT.OBJECT', 'PUT /p HTTP/1.1'), { skipped: 'no page view' }],
    [line('REST.GET.OBJECT', 'GET /s.css HTTP/1.1'), { skipped: 'no page view' }],
    [line('REST.GET.OBJECT', 'GET /p HTTP/1.1', '-', '-'), { skipped: 'no user agent' }],
  ])
  const lifecycle = `${'79a59df900b949e5'.repeat(4)} bucket [28/Nov/2026:10:01:02 +0000] - - 3E57 S3.EXPIRE.OBJECT k "-" - - - 7 - - "-" "-" - x= - - - - - - -`
  check('s3-access', [[lifecycle, { skipped: 'no page view' }]])
})

test('an Apache user "" is a user, and lighttpd writes the host after the address', () => {
  const rest = `[28/Nov/2026:10:01:02 +0000] "GET /p HTTP/1.1" 200 10 "-" "${UA}"`
  check('combined', [
    [`17.0.0.1 - "" ${rest}`, { ip: '17.0.0.1', url: '/p' }],
    [`17.0.0.1 - "a b" ${rest}`, { ip: '17.0.0.1', url: '/p' }],
    [`17.0.0.1 - ann [x] ${rest}`.replace(' [x]', ''), { ip: '17.0.0.1', url: '/p' }],
    [`17.0.0.1 www.example.com - ${rest}`, { ip: '17.0.0.1', url: 'https://www.example.com/p' }],
    [`17.0.0.1 localhost:8080 - ${rest}`, { ip: '17.0.0.1', url: 'https://localhost:8080/p' }],
    [`17.0.0.1 ann - ${rest}`, { ip: '17.0.0.1', url: '/p' }],
    [`unix: - - ${rest}`, { ip: undefined, url: '/p' }],
  ])
})
