import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { BatchJob } from '../../schemas/api/batch.ts'
import { runCommand } from '../support/command.ts'
import { startInstance, type TestInstance } from '../support/instance.ts'
import type { CreatedSource } from '../support/source-sdks.ts'
import { until } from '../support/until.ts'

/* Log shippers and edge logs by their documented requests, against a whole instance. 17/8 is a business. */

async function command(instance: TestInstance, args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runCommand([...args, '--json'], {
    env: { DATA_DIR: instance.dataDir, ...env },
  })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

function create(instance: TestInstance, ...options: readonly string[]): Promise<CreatedSource> {
  return command(instance, ['source', 'create', 'demo', 'http', '--url', instance.ready.url, ...options])
}

interface Body {
  readonly job_id?: string
  readonly filtered?: number
  readonly filtered_reasons?: object
  readonly received: number
  readonly accepted: number
  readonly rejected: number
  readonly detail: string
  readonly requestId: string
  readonly timestamp: number
}

async function post(url: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { method: 'POST', body: body as string, headers })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Body }
}

/** Ids of the stored events of a source, in order. */
function stored(instance: TestInstance, id: string): Promise<string> {
  return instance.query(`SELECT arrayStringConcat(groupArray(event_id), ' ') FROM
    (SELECT event_id FROM events WHERE source_id = '${id}' ORDER BY event_id LIMIT 20)`)
}

async function untilStored(instance: TestInstance, id: string, ids: string): Promise<void> {
  await until(
    () => stored(instance, id),
    (found) => found === ids,
  )
}

function lines(count: number, prefix: string): string[] {
  return Array.from(
    { length: count },
    (_, i) =>
      `{"client":{"ip":"17.0.${(i >> 8) & 255}.${i & 255}"},"rid":"${prefix}-${i}","n":${i},"pad":"${'x'.repeat(200)}"}`,
  )
}

test('log shippers, edge logs and large bodies become events of their source, each once', async (t) => {
  const service = 'SU1Z0isxPaozGVKXdv0eY'
  const settings = { SINK_LINGER_MS: '100', FASTLY_SERVICES: service, BATCH_QUEUE_LIMIT: '3' }
  const instance = await startInstance(t, settings)
  const { url: base } = instance.ready
  const mapped = ['--map', 'ip=client.ip', '--map', 'event_id=rid']

  await t.test('NDJSON, an array and one object, plain or gzip, whatever their labels say', async () => {
    const { key, url, source_id: id } = await create(instance, ...mapped)
    const event = (n: number) => `{"client":{"ip":"17.0.0.${n}:443"},"rid":"e${n}","more":12345678901234567890}`
    const array = `[${event(3)},\n ${event(4)}]`
    const pretty = JSON.stringify({ client: { ip: '17.0.0.5' }, rid: 'e5' }, null, 2)
    const basic = (user: string) => `Basic ${Buffer.from(user).toString('base64')}`
    const answers = [
      await post(url, `${event(1)}\n\n${event(2)}\r\n`),
      await post(`${base}/s/http`, gzipSync(array), { 'x-source-key': key, 'content-type': 'text/plain' }),
      await post(`${base}/s/http`, pretty, { authorization: `Bearer ${key}` }),
      await post(`${base}/s/http`, event(1), { authorization: basic(`ipid:${key}`), 'content-encoding': 'gzip' }),
      await post(`${base}/s/http`, gzipSync(event(2)), { authorization: basic(`${key}:`), 'content-encoding': 'gzip' }),
    ]
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.received, body.accepted]),
      [2, 2, 1, 1, 1].map((count) => [200, count, count]),
    )
    await untilStored(instance, id, 'e1 e2 e3 e4 e5')
    const more = `SELECT DISTINCT JSONExtractRaw(properties, 'more'), ip FROM events WHERE source_id = '${id}' AND event_id = 'e1'`
    assert.equal(await instance.query(more), '12345678901234567890\t17.0.0.1')
  })

  await t.test('bad events refuse no other, and are counted with their reason', async () => {
    const { url, source_id: id } = await create(instance)
    const body = '{"ip":"17.0.0.1","event_id":"a"}\nnope\n{"event_id":"b"}\n{"ip":"x","event_id":"c"}\n{"ip":5}\n[1]\n'
    const answer = await post(url, body)
    const counts = { received: 6, accepted: 1, filtered: 0, invalid_ip: 1, no_ip: 1, rejected: 3 }
    assert.deepEqual([answer.status, answer.body], [200, counts])
    await untilStored(instance, id, 'a')
    const expected = [
      'invalid_ip\t\t1',
      'no_ip\t\t1',
      'rejected\tip must be a string\t1',
      'rejected\tis not JSON\t1',
      'rejected\tmust be an object\t1',
    ]
    await until(
      () =>
        instance.query(`SELECT status, reason, sum(events) FROM outcomes WHERE source_id = '${id}'
        GROUP BY status, reason ORDER BY status, reason`),
      (found) => found === expected.join('\n'),
    )
    assert.equal((await post(url, 'nope\n<xml>')).status, 400)
    assert.equal((await post(url, '[{"ip":"17.0.0.1"},')).status, 400)
    assert.equal((await post(url, '')).body.received, 0)
    assert.equal((await post(`${base}/s/http/src_${'0'.repeat(40)}`, body)).status, 401)
    assert.equal((await post(`${base}/s/http`, body)).status, 401)
  })

  await t.test('a large body becomes one job, and its events and counts name the source', async () => {
    const { url, source_id: id } = await create(instance, ...mapped)
    const large = [...lines(20_000, 'n'), 'nope', '{"rid":"z"}', '{"client":{"ip":"17.0.0.1"},"rid":"n-1"}']
    const answer = await post(url, gzipSync(large.join('\n')))
    assert.deepEqual([answer.status, answer.body.received], [200, 20_003])
    const array = await post(url, `[${lines(20_000, 'n').join(',')}]`)
    assert.deepEqual([array.status, array.body.received], [200, 20_000])
    const count = `SELECT count(), uniqExact(event_id), uniqExact(job_id) FROM events WHERE source_id = '${id}'`
    await until(
      () => instance.query(count),
      (found) => found === '20000\t20000\t1',
    )
    const outcomes = `SELECT status, sum(events) FROM outcomes WHERE source_id = '${id}' GROUP BY status ORDER BY status`
    await until(
      () => instance.query(outcomes),
      (found) => found === 'duplicates\t20001\nno_ip\t1\nrejected\t1',
    )
  })

  await t.test('a sender learns why events were filtered: at once, or from a job of its own source', async () => {
    const { url } = await create(instance)
    const agent = ',"properties":{"user_agent":"Googlebot/2.1"}'
    const events = (count: number) =>
      Array.from({ length: count }, (_, i) => `{"ip":"10.0.0.1","event_id":"f${i}"${i === 0 ? agent : ''}}`)
    const { body: small } = await post(url, [...events(3), '{"ip":"17.0.0.1"}'].join('\n'))
    assert.deepEqual([small.accepted, small.filtered, small.filtered_reasons], [1, 3, { reserved: 3 }])
    const { body: large } = await post(url, [...events(3_000), '{"ip":"17.0.0.1"}'].join('\n'))
    const read = async (at: string) => {
      const response = await fetch(`${at}?job=${large.job_id}`)
      return { status: response.status, body: (await response.json()) as BatchJob }
    }
    const { result_summary: summary } = await until(
      async () => (await read(url)).body,
      ({ status }) => status === 'completed',
    )
    assert.deepEqual([summary!.filtered, summary!.filtered_reasons], [3_000, { reserved: 3_000 }])
    assert.deepEqual(
      ['errors', 'rejected_reasons', 'warning'].filter((name) => name in summary!),
      [],
      'a key of a source reads counts only',
    )
    const { url: another } = await create(instance)
    assert.equal((await read(another)).status, 404)
    assert.equal((await fetch(`${url}?job=none`)).status, 404)
  })

  await t.test(
    'requests that are no page views are counted, live and in a job, and stored if the source says so',
    async () => {
      const { url, source_id: id } = await create(instance, '--preset', 'vector')
      const entry = (n: number, more: object = {}) =>
        JSON.stringify({ host: '17.0.0.1', event_id: `p${n}`, request: 'GET /p HTTP/1.1', status: 200, ...more })
      const others = [
        entry(0, { status: 404 }),
        entry(0, { request: 'GET /s.css HTTP/1.1' }),
        entry(0, { method: 'HEAD' }),
      ]
      const { body } = await post(url, [entry(1), ...others].join('\n'))
      assert.deepEqual([body.received, body.accepted, body.filtered, body.filtered_reasons], [4, 1, 3, { no_page: 3 }])
      const large = [entry(2), ...Array<string>(3_000).fill(others[1]!), entry(3, { host: '10.0.0.1' })]
      const { body: job } = await post(url, large.join('\n'))
      const read = async () => (await (await fetch(`${url}?job=${job.job_id}`)).json()) as BatchJob
      const { result_summary: summary } = await until(read, ({ status }) => status === 'completed')
      assert.deepEqual(
        [summary!.processed, summary!.filtered, summary!.filtered_reasons, summary!.rejected],
        [3_002, 3_001, { reserved: 1, no_page: 3_000 }, 0],
      )
      await untilStored(instance, id, 'p1 p2')
      await until(
        () => instance.query(`SELECT sum(events) FROM outcomes WHERE source_id = '${id}' AND status = 'no_page'`),
        (found) => found === '3003',
      )
      const shown = await command(instance, ['source', 'show', id])
      assert.equal(shown.today.filtered, 3_004)
      assert.equal((await command(instance, ['source', 'set', id, '--all'])).all, true)
      await until(
        async () => (await post(url, entry(4, { status: 404 }))).body.accepted,
        (accepted) => accepted === 1,
      )
    },
  )

  await t.test('an endless body and one that unpacks to too much are refused, and nothing is kept', async () => {
    const { url, source_id: id } = await create(instance)
    const bomb = gzipSync(Buffer.alloc(105_000_000, 0x20))
    const { status, body } = await post(url, bomb)
    assert.deepEqual([status, body.detail], [413, 'the body is larger than 104857600 bytes'])
    const deep = await post(url, gzipSync(`{"ip":"17.0.0.1","a":${'['.repeat(900_000)}`))
    assert.deepEqual([deep.status, deep.body.rejected], [200, 1])
    assert.equal(await stored(instance, id), '')
  })

  await t.test('Cloudflare Logpush: the test upload stores nothing, and a batch is stored', async () => {
    const { url, source_id: id, setup } = await create(instance, '--preset', 'cloudflare')
    assert.match(setup, new RegExp(url))
    const upload = (body: string) => post(`${url}?header_x=1`, gzipSync(body), { 'content-type': 'text/plain' })
    assert.deepEqual((await upload('{"content":"tests"}')).status, 200)
    const entry = { ClientIP: '17.1.0.1', RayID: 'r1', EdgeStartTimestamp: 1_795_680_000_000_000_000 }
    const request = { ClientRequestHost: 'acme.com', ClientRequestURI: '/p', ClientRequestUserAgent: 'Mozilla' }
    assert.equal((await upload(`${JSON.stringify({ ...entry, ...request })}\n`)).body.accepted, 1)
    await untilStored(instance, id, 'r1')
    const facts = `SELECT toString(timestamp), JSONExtractString(properties, 'user_agent'), extra FROM events WHERE source_id = '${id}'`
    assert.equal(await instance.query(facts), '2026-11-26 08:00:00.000\tMozilla\t{"url":"https://acme.com/p"}')
  })

  await t.test("Fastly's challenge names the configured services by their hash", async () => {
    const answer = await fetch(`${base}/.well-known/fastly/logging/challenge`)
    assert.deepEqual(
      [answer.status, await answer.text()],
      [200, `${createHash('sha256').update(service).digest('hex')}\n`],
    )
  })

  await t.test('Vercel: the endpoint is verified, and only signed bodies are stored', async () => {
    const { url, source_id: id } = await create(instance, '--preset', 'vercel')
    const env = { VERCEL_DRAIN_SECRET: 'drain secret' }
    const shown = await command(instance, ['source', 'set', id, '--verify', 'code-1', '--secret'], env)
    assert.equal(JSON.stringify(shown).includes('drain secret'), false)
    const proof = await fetch(url)
    assert.deepEqual([proof.status, proof.headers.get('x-vercel-verify')], [200, 'code-1'])
    const entry = { id: '1', requestId: 'q1', source: 'edge', timestamp: 1_795_680_000_000 }
    const body = JSON.stringify([
      { ...entry, proxy: { clientIp: '17.2.0.1', host: 'acme.com', path: '/', userAgent: ['Mozilla'] } },
      { ...entry, id: '2', source: 'build', message: 'built' },
    ])
    const sign = (text: string, secret = 'drain secret') => createHmac('sha1', secret).update(text).digest('hex')
    for (const signature of ['', 'zz', sign(body, 'another'), sign(`${body} `)]) {
      assert.equal((await post(url, body, { 'x-vercel-signature': signature })).status, 403, signature)
    }
    const signed = await post(url, body, { 'x-vercel-signature': sign(body) })
    assert.deepEqual([signed.status, signed.headers.get('x-vercel-verify')], [200, 'code-1'])
    await untilStored(instance, id, 'q1')
    const large = JSON.stringify(
      lines(5_000, 'v').map((_, i) => ({
        ...entry,
        requestId: `v${i}`,
        proxy: { clientIp: '17.2.0.2', path: 'x'.repeat(300) },
      })),
    )
    assert.equal((await post(url, large, { 'x-vercel-signature': sign('other') })).status, 403)
    assert.equal(await stored(instance, id), 'q1')

    const { stderr } = await runCommand(['source', 'set', id, '--preset', 'none'], {
      env: { DATA_DIR: instance.dataDir },
    })
    assert.match(stderr, /its signature secret is forgotten/)
    await command(instance, ['source', 'set', id, '--preset', 'vercel'])
    const unsigned = await post(url, body.replace('q1', 'q2'))
    assert.equal(unsigned.status, 200, 'a secret that nothing checks is not kept')
    const { source_id: plain } = await create(instance)
    const refused = async (...args: readonly string[]) => {
      const { code, stderr } = await runCommand(['source', ...args, '--secret'], {
        env: { DATA_DIR: instance.dataDir, ...env },
      })
      return { code, stderr }
    }
    const why = /^ipid: --secret: only sources with --preset vercel have signed bodies, and this one has /
    for (const args of [[plain], [plain, '--preset', 'fastly'], [id, '--preset', 'none']]) {
      const { code, stderr } = await refused('set', ...args)
      assert.equal(code, 2, args.join(' '))
      assert.match(stderr, why)
    }
    assert.equal((await refused('set', plain, '--preset', 'vercel')).code, 0)
    const created = await refused('create', 'demo', 'http', '--url', base)
    assert.equal(created.code, 2)
    assert.match(created.stderr, why)
    const whole = await create(instance, '--preset', 'vercel', '--secret').catch(String)
    assert.match(String(whole), /set VERCEL_DRAIN_SECRET/)
  })

  await t.test(
    'Amazon Data Firehose: its own answer, also to a failure, and an attempt again is a repeat',
    async () => {
      const { key, source_id: id } = await create(instance)
      const records = ['{"ip":"17.3.0.1"}\n{"ip":"17.3.0.2"}', '{"ip":"17.3.0.3"}'].map((text) => ({
        data: Buffer.from(text).toString('base64'),
      }))
      const body = gzipSync(JSON.stringify({ requestId: 'ed4acda5', timestamp: 1_578_090_901_599, records }))
      const deliver = (accessKey: string) =>
        post(`${base}/s/http`, body, {
          'content-type': 'application/json',
          'content-encoding': 'gzip',
          'x-amz-firehose-protocol-version': '1.0',
          'x-amz-firehose-request-id': 'ed4acda5',
          'x-amz-firehose-access-key': accessKey,
        })
      for (let attempt = 0; attempt < 2; attempt++) {
        const { status, headers, body: answer } = await deliver(key)
        assert.deepEqual([status, headers.get('content-type')], [200, 'application/json; charset=utf-8'])
        assert.deepEqual([Object.keys(answer), answer.requestId], [['requestId', 'timestamp'], 'ed4acda5'])
        assert.equal(typeof answer.timestamp, 'number')
      }
      const refused = await deliver(`src_${'1'.repeat(40)}`)
      assert.equal(refused.status, 401)
      assert.deepEqual(Object.keys(refused.body), ['requestId', 'timestamp', 'errorMessage'])
      await untilStored(instance, id, 'ed4acda5:1 ed4acda5:2 ed4acda5:3')
    },
  )

  await t.test('Vector and Fluent Bit: batches as their http outputs send them', async () => {
    const vector = await create(instance, '--preset', 'vector')
    const nginx = {
      client: '17.4.0.1',
      path: '/a',
      agent: 'Mozilla',
      timestamp: '2026-11-26T08:00:00Z',
      event_id: 'x1',
    }
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip', 'user-agent': 'Vector/0.50' }
    assert.equal((await post(vector.url, gzipSync(`${JSON.stringify(nginx)}\n`), headers)).status, 200)
    await untilStored(instance, vector.source_id, 'x1')
    const fluent = await create(instance, '--preset', 'fluent-bit', '--map', 'event_id=req')
    const array = '[{"date":1795680000.123456,"remote":"17.4.0.2","path":"/b","req":"y1"}]'
    assert.equal(
      (await post(fluent.url, array, { 'content-type': 'application/json', 'user-agent': 'Fluent-Bit' })).status,
      200,
    )
    await untilStored(instance, fluent.source_id, 'y1')
    assert.equal(
      await instance.query(`SELECT toString(timestamp), extra FROM events WHERE event_id = 'y1'`),
      '2026-11-26 08:00:00.123\t{"url":"/b"}',
    )
  })

  await t.test('a large body that breaks off, or whose ingress is killed, is nothing or whole', async () => {
    const { url, key, source_id: id } = await create(instance, ...mapped)
    const { hostname, port } = new URL(base)
    const body = Buffer.from(lines(20_000, 'w').join('\n'))
    const head = `POST /s/http/${key} HTTP/1.1\r\nhost: h\r\ncontent-length: ${body.length}\r\n\r\n`
    const sockets = await Promise.all(
      [0.3, 0.9, 1 - 1 / body.length].map(async (part) => {
        const socket = connect(Number(port), hostname)
        await once(socket, 'connect')
        socket.on('error', () => {})
        socket.write(head)
        await new Promise<unknown>((done) => socket.write(body.subarray(0, Math.floor(part * body.length)), done))
        return socket
      }),
    )
    // Each is a job of the tenant already, and 3 are its limit.
    const full = await until(async () => {
      const answer = await post(url, body)
      return answer.status === 429 ? answer : undefined
    })
    assert.ok(Number(full.headers.get('retry-after')) >= 1)
    assert.match(full.body.detail, /3 batch jobs are queued or running already/)
    for (const socket of sockets) socket.destroy()
    const killed = [0, 1, 2].map(async () => await post(url, body).catch(() => undefined))
    instance.kill('ipid ingress')
    const answers = (await Promise.all(killed)).filter((answer) => answer?.status === 200)
    const jobs = `SELECT countIf(n != 20000), count() FROM (SELECT job_id, count() AS n FROM events WHERE source_id = '${id}' GROUP BY job_id)`
    // The rest of the test needs a job that is complete: the same events, sent until one request is answered.
    await until(async () => (await post(url, body).catch(() => undefined))?.status === 200)
    await until(
      () => instance.query(`SELECT count(), uniqExact(event_id) FROM events WHERE source_id = '${id}'`),
      (found) => found === '20000\t20000',
    )
    assert.ok(answers.length <= 3)
    assert.equal((await instance.query(jobs)).split('\t')[0], '0', 'events came from whole uploads')
  })
})
