import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { BatchAccepted, BatchJob, BatchJobList, JobList } from '../../schemas/api/batch.ts'
import type { ErrorBody } from '../../schemas/api/error.ts'
import { runCommand } from '../support/command.ts'
import { testedEngine } from '../support/engines.ts'
import { startInstance, type TestInstance } from '../support/instance.ts'
import { cpuMs } from '../support/processes.ts'
import { until } from '../support/until.ts'

const titleOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'latin1')

describe('batch uploads over HTTP', () => {
  let instance: TestInstance
  let cleanUp: () => Promise<void>
  before(async () => {
    const hooks = {
      after: (hook: () => Promise<void>) => {
        cleanUp = hook
      },
    }
    instance = await startInstance(hooks, { HTTP_ENGINE: testedEngine() })
  })
  after(() => cleanUp())

  const upload = (body: string | Buffer, headers: Record<string, string> = {}, query = '') =>
    fetch(`${instance.ready.url}/v1/ingest/batch${query}`, {
      method: 'POST',
      headers: { 'x-api-key': instance.apiKey, 'content-type': 'application/x-ndjson', ...headers },
      body: new Uint8Array(Buffer.from(body)),
    })
  const read = async (jobId: string, key = instance.apiKey) => {
    const answer = await fetch(`${instance.ready.url}/v1/ingest/batch/${jobId}`, { headers: { 'x-api-key': key } })
    return { status: answer.status, job: (await answer.json()) as BatchJob }
  }
  const completed = (jobId: string) =>
    until(async () => {
      const { job } = await read(jobId)
      return job.status === 'completed' ? job : undefined
    })
  const ipid = (...args: string[]) =>
    runCommand(args, { env: { DATA_DIR: instance.dataDir, IPID_API_KEY: instance.apiKey } })

  test('an upload of white space only is malformed, and counts nothing', async () => {
    for (const body of ['', ' \r\n\t\n']) {
      const answer = await upload(body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.equal(typeof ((await answer.json()) as { detail: unknown }).detail, 'string')
    }
  })

  test('without a key nothing is read; an unknown job is not found', async () => {
    assert.equal((await upload('{}', { 'x-api-key': '' })).status, 401)
    assert.equal((await read('nothing')).status, 404)
  })

  test('gzip is decoded, blank lines do not count, and bad lines are named by line number', async () => {
    const lines =
      '\n{"ip":"17.0.0.1","event_id":"g1"}\r\n\n{"ip":7}\n{"ip":"17.0.0.2","event_id":"g2","timestamp":"soon"}'
    const answer = await upload(gzipSync(lines), { 'content-encoding': 'gzip' })
    assert.equal(answer.status, 202)
    const { job_id, status, received } = (await answer.json()) as BatchAccepted
    assert.deepEqual([status, received], ['queued', 3])
    assert.equal(answer.headers.get('location'), `/v1/ingest/batch/${job_id}`)
    const job = await completed(job_id)
    assert.deepEqual(
      job.result_summary!.errors.map(({ line }) => line),
      [4, 5],
    )
    assert.match(job.result_summary!.errors[0]!.detail, /^ip must be a string/)
    assert.match(job.result_summary!.errors[1]!.detail, /^timestamp must be an RFC 3339/)
    const rejected = await fetch(`${instance.ready.url}/v1/ingest/batch/${job_id}/rejected`, {
      headers: { 'x-api-key': instance.apiKey },
    })
    assert.deepEqual(
      ['content-type', 'x-rejected-lines', 'x-rejected-complete'].map((name) => rejected.headers.get(name)),
      ['application/x-ndjson', '2', 'true'],
    )
    const [first, second] = (await rejected.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual([first.line, first.code, first.text], [4, 'schema', '{"ip":7}'])
    assert.equal(second.text, lines.split('\n').at(-1))
    assert.equal(await instance.query("SELECT count() FROM events WHERE event_id = 'g1'"), '1')
  })

  test('an upload with an idempotency key may be sent again, compressed in another way too', async () => {
    const body = '{"ip":"17.0.0.1","event_id":"k1"}\n{"ip":"17.0.0.2","event_id":"k2"}\n'
    const key = { 'idempotency-key': '"a \\"key\\""' }
    const first = await upload(body, key, '?label=k%C3%B6ln')
    const accepted = (await first.json()) as BatchAccepted
    assert.deepEqual([first.status, first.headers.get('idempotent-replayed')], [202, null])
    await completed(accepted.job_id)
    for (const [again, headers] of [
      [body, {}],
      [gzipSync(body), { 'content-encoding': 'gzip' }],
    ] as const) {
      const answer = await upload(again, { 'idempotency-key': 'a "key"', ...headers }, '?label=k%C3%B6ln')
      assert.deepEqual([answer.status, await answer.json()], [202, accepted])
      assert.deepEqual(
        ['idempotent-replayed', 'location'].map((name) => answer.headers.get(name)),
        ['true', `/v1/ingest/batch/${accepted.job_id}`],
      )
    }
    const others: [body: string, headers: Record<string, string>, query: string][] = [
      [`${body}\n`, key, '?label=k%C3%B6ln'],
      [body, key, ''],
      [`ip\n17.0.0.1\n`, { ...key, 'content-type': 'text/csv' }, '?label=k%C3%B6ln'],
    ]
    for (const other of others) {
      const answer = await upload(...other)
      assert.deepEqual([answer.status, ((await answer.json()) as ErrorBody).code], [409, 'idempotency_key_reused'])
    }
    // A refused upload leaves its key free.
    const free = { 'idempotency-key': 'free' }
    assert.equal((await upload(' \n', free)).status, 400)
    assert.equal((await upload(body, free, '?lable=x')).status, 422)
    assert.equal((await upload(body, free)).headers.get('idempotent-replayed'), null)
    for (const query of [`?label=${'x'.repeat(65)}`, '?label=', '?label=%00', '?label=a&label=b'])
      assert.equal((await upload(body, {}, query)).status, 422, query)
    const list = await fetch(`${instance.ready.url}/v1/ingest/batch?label=k%C3%B6ln&status=completed`, {
      headers: { 'x-api-key': instance.apiKey },
    })
    const { jobs } = (await list.json()) as BatchJobList
    assert.deepEqual(
      jobs.map(({ job_id, label, stored }) => [job_id, label, stored]),
      [[accepted.job_id, 'köln', 2]],
    )
    const wrong = await fetch(`${instance.ready.url}/v1/ingest/batch?status=done`, {
      headers: { 'x-api-key': instance.apiKey },
    })
    assert.equal(wrong.status, 422)
  })

  test('CSV is converted as the command and the dashboard do it, and errors name its lines', async () => {
    const csv =
      'Visitor IP;Time;event_id;Note\r\n17.0.0.1;01/02/2026;csv-1;"a note\nof two lines"\r\n;;csv-2;\r\n17.0.0.3;soon;csv-3;\r\n'
    const send = (query: string, body: string | Buffer, headers: Record<string, string> = {}) =>
      upload(body, { 'content-type': 'text/csv', ...headers }, query)
    const mapped = '?map=Visitor%20IP=ip&map=Time=timestamp'
    const answer = await send(`${mapped}&date_order=dmy`, gzipSync(csv), { 'content-encoding': 'gzip' })
    assert.equal(answer.status, 202)
    const { job_id, received } = (await answer.json()) as BatchAccepted
    assert.equal(received, 3)
    const { result_summary: summary } = await completed(job_id)
    assert.deepEqual(
      summary!.errors.map(({ line, detail }) => [line, detail.split(' ')[0]]),
      [
        [4, 'ip'],
        [5, 'timestamp'],
      ],
    )
    const stored = await instance.query("SELECT timestamp, extra FROM events WHERE event_id = 'csv-1'")
    assert.match(stored, /^2026-02-01 00:00:00\.000\t.*"Note":"a note/)

    // gzip that no header names, and an encoding in the content type
    const latin = Buffer.from('ip,event_id,Ort\n17.0.0.1,csv-4,K\u00f6ln\n', 'latin1')
    const encoded = await send('', gzipSync(latin), { 'content-type': 'text/csv; charset=iso-8859-1' })
    await completed(((await encoded.json()) as BatchAccepted).job_id)
    assert.match(await instance.query("SELECT extra FROM events WHERE event_id = 'csv-4'"), /K\u00f6ln/)

    const refused = async (status: number, detail: RegExp, query: string, body: string, headers = {}) => {
      const response = await send(query, body, headers)
      assert.equal(response.status, status)
      assert.match(((await response.json()) as ErrorBody).detail, detail)
    }
    await refused(422, /no column "ip"; it has Visitor IP, .*as in \?map=Visitor%20IP=ip$/, '', csv)
    await refused(422, /names a column "None"; the CSV header has/, '?map=None=ip', csv)
    await refused(422, /names "ip" twice/, '', 'ip,IP\n17.0.0.1,17.0.0.2\n')
    await refused(422, /^date_order must be dmy or mdy/, '?date-order=ymd', csv)
    await refused(422, /^map is for a body with content-type: text\/csv/, mapped, '{}', {
      'content-type': 'application/x-ndjson',
    })
    await refused(400, /no events/, '', 'ip\n\n')
    await refused(400, /is empty/, '', '')
  })

  test('a body without lines is 415 with what to send, whatever its type is called', async () => {
    const parquet = Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(64)])
    const form = '--x\r\ncontent-disposition: form-data; name="file"\r\n\r\n{"ip":"17.0.0.1"}\r\n--x--\r\n'
    for (const [type, body, remedy] of [
      ['multipart/form-data; boundary=x', form, /NDJSON.*--data-binary @FILE/],
      ['application/vnd.apache.parquet', parquet, /DuckDB/],
      ['application/octet-stream', parquet, /^the body is Parquet/],
      ['application/x-ndjson', gzipSync('{"ip":"17.0.0.1"}'), /content-encoding: gzip/],
      ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'x', /as CSV/],
      ['application/zip', 'x', /NDJSON/],
    ] as const) {
      const response = await upload(body, { 'content-type': type })
      const { code, detail } = (await response.json()) as ErrorBody
      assert.deepEqual([response.status, code], [415, 'unsupported_content_type'], type)
      assert.match(detail, remedy, type)
    }
  })

  test('a line of text that begins as a file without lines does is one bad line', async () => {
    const answer = await upload('ORCHID down\n{"ip":"17.0.0.1","event_id":"orchid"}\n')
    assert.equal(answer.status, 202)
    const { result_summary: summary } = await completed(((await answer.json()) as BatchAccepted).job_id)
    assert.deepEqual([summary!.rejected, summary!.valid_ips], [1, 1])
  })

  test('an export of events is uploaded again: all columns, and those that a person chooses', async () => {
    const sent = [
      { session_id: 7, properties: { n: 1.5, list: ['a'] }, user_properties: 'x', url: 'https://x.example/a?b="c"' },
      { timestamp: '2026-11-22T08:00:00.123Z', platform: 'web', note: 'two\nlines' },
    ].map((event, i) => JSON.stringify({ ip: `17.0.0.${i}`, event_id: `export-${i}`, event_type: 'read', ...event }))
    await completed(((await (await upload(sent.join('\n'))).json()) as BatchAccepted).job_id)
    const again = async (columns: string, ids: string) => {
      const of = `FROM events WHERE event_id IN ('export-0', 'export-1') ORDER BY event_id FORMAT CSVWithNames`
      const csv = (await instance.query(`SELECT ${columns} ${of}`)).replaceAll('"export-', `"${ids}-`)
      const answer = await upload(csv, { 'content-type': 'text/csv' })
      assert.equal(answer.status, 202, columns)
      const job = await completed(((await answer.json()) as BatchAccepted).job_id)
      assert.deepEqual([job.result_summary!.rejected, job.result_summary!.valid_ips], [0, 2], columns)
    }
    const stored = (columns: string, ids: string) =>
      instance.query(`SELECT ${columns} FROM events WHERE startsWith(event_id, '${ids}-') ORDER BY event_id FORMAT CSV`)
    await again('ip, timestamp, session_id, account_id', 'none')
    const kept =
      'ip, timestamp, event_type, session_id, platform, properties, user_properties, account_id, url, company_id'
    await again('* EXCEPT (browser_key, quality)', 'again')
    assert.equal(await stored(kept, 'again'), await stored(kept, 'export'))
    await again('ip, event_id, session_id, properties, user_properties, extra', 'few')
    assert.equal(await stored('properties, extra', 'few'), await stored('properties, extra', 'export'))
    await again("ip, event_id, JSONExtract(properties, 'Map(String, String)') AS properties", 'map')
    assert.match(await stored('properties', 'map'), /""n"":""1\.5""/)
  })

  test('a bomb of blank lines is cheap, and the lines after it keep their numbers', async () => {
    const blank = Buffer.alloc(100_000_000, '\n')
    const bomb = gzipSync(Buffer.concat([Buffer.from('{"ip":7}\n'), blank, Buffer.from('{"ip":8}')]))
    const [ingress] = instance.pids().others.filter((pid) => titleOf(pid).includes('ipid ingress'))
    const before = cpuMs(ingress!)
    const answer = await upload(bomb, { 'content-encoding': 'gzip' })
    const spent = cpuMs(ingress!) - before
    assert.equal(answer.status, 202)
    assert.ok(spent < 3_000, `${spent} ms`)
    const { job_id, received } = (await answer.json()) as BatchAccepted
    assert.equal(received, 2)
    const job = await completed(job_id)
    assert.deepEqual(
      job.result_summary!.errors.map(({ line }) => line),
      [1, 100_000_002],
    )
  })

  test('over a million lines or 100 MB decoded is refused, and so are broken encodings', async () => {
    const tooMany = await upload(Buffer.alloc(3 * 1_000_001, '{}\n'))
    assert.equal(tooMany.status, 413)
    const bomb = await upload(gzipSync(Buffer.alloc(104_857_601, ' ')), { 'content-encoding': 'gzip' })
    assert.equal(bomb.status, 413)
    assert.equal((await upload('{}', { 'content-encoding': 'gzip' })).status, 400)
    assert.equal((await upload('{}', { 'content-encoding': 'br' })).status, 415)
    assert.equal(await instance.query("SELECT count() FROM events WHERE event_id = ''"), '0')
  })

  test('a JSON array and a body of /v1/ingest are refused at once, and nothing is kept', async () => {
    const count = async () => (JSON.parse((await ipid('batch', 'list', '--json')).stdout) as BatchJobList).jobs.length
    const before = await count()
    const event = '{"ip":"17.0.0.1","event_id":"shape"}'
    for (const [body, detail] of [
      [`[${event}]`, /^the body is one JSON array: it must have one event per line, as jq -c '\.\[\]' prints/],
      [`{"events":[${event}]}`, /^the body is a request for \/v1\/ingest: it must have one event per line/],
    ] as const) {
      for (const gzip of [false, true]) {
        const answer = await upload(gzip ? gzipSync(body) : body, gzip ? { 'content-encoding': 'gzip' } : {})
        const { detail: said } = (await answer.json()) as ErrorBody
        assert.equal(answer.status, 400)
        assert.match(said, detail)
      }
    }
    assert.equal(await count(), before)
    const odd = await upload('{"events":[{"a":1}],"ip":"17.0.0.1","event_id":"odd"}')
    assert.equal(odd.status, 202)
    await completed(((await odd.json()) as BatchAccepted).job_id)
    assert.equal(await instance.query("SELECT extra FROM events WHERE event_id = 'odd'"), '{"events":[{"a":1}]}')
    assert.equal(await instance.query("SELECT count() FROM events WHERE event_id = 'shape'"), '0')
  })

  test('jobs are listed and cancelled over HTTP and on the command line', async () => {
    const lines = Array.from({ length: 200_000 }, (_, i) => `{"ip":"17.0.0.1","event_id":"x${i}"}`)
    const { job_id } = (await (
      await upload(gzipSync(lines.join('\n')), { 'content-encoding': 'gzip' })
    ).json()) as BatchAccepted
    const listed = JSON.parse((await ipid('batch', 'list', '--limit', '1', '--json')).stdout) as BatchJobList
    assert.equal(listed.jobs[0]!.job_id, job_id)
    assert.ok(Math.abs(Date.parse(listed.jobs[0]!.received_at) - Date.now()) < 60_000)
    assert.equal(listed.next, job_id)
    const page = async (query: string) => {
      const of = await fetch(`${instance.ready.url}/v1/ingest/batch?limit=1&${query}`, {
        headers: { 'x-api-key': instance.apiKey },
      })
      assert.equal(of.status, 200)
      return (await of.json()) as JobList
    }
    const second = await page(`cursor=${job_id}`)
    assert.notEqual(second.jobs[0]!.job_id, job_id)
    assert.equal(second.next_cursor, second.jobs[0]!.job_id)
    assert.deepEqual(await page(`before=${job_id}`), second, 'the names of version 0.2')
    assert.equal(second.next, second.next_cursor)
    const cancel = (id: string) =>
      fetch(`${instance.ready.url}/v1/ingest/batch/${id}/cancel`, {
        method: 'POST',
        headers: { 'x-api-key': instance.apiKey },
      })
    const answer = await cancel(job_id)
    assert.equal(answer.status, 200)
    const job = (await answer.json()) as BatchJob
    assert.deepEqual([job.job_id, job.status, job.progress_message], [job_id, 'failed', 'cancelled'])
    const again = await ipid('batch', 'cancel', job_id, '--json')
    assert.deepEqual([again.code, JSON.parse(again.stdout).status], [0, 'failed'], again.stderr)
    assert.equal((await ipid('batch', 'show', job_id)).code, 1)
    const short = (await (await upload('{"ip":"17.0.0.1"}')).json()) as BatchAccepted
    await completed(short.job_id)
    assert.equal((await cancel(short.job_id)).status, 409)
    assert.equal((await cancel('nothing')).status, 404)
    const table = (await ipid('batch', 'list')).stdout.split('\n')
    assert.match(table[0]!, /^JOB +RECEIVED +STATUS +FINISHED +OF +REJECTED +WHY$/)
    assert.match(table[2]!, new RegExp(`^${job_id} .* failed +\\d+ +200000 +\\d+ +cancelled$`))
    for (const query of [
      'limit=0',
      'limit=x',
      'limit=101',
      'limit=1&limit=2',
      'before=x',
      'before=',
      'cursor=x',
      'cursor=',
      'before=a&cursor=a',
    ]) {
      const refused = await fetch(`${instance.ready.url}/v1/ingest/batch?${query}`, {
        headers: { 'x-api-key': instance.apiKey },
      })
      assert.equal(refused.status, 422, query)
      const { detail, errors } = (await refused.json()) as ErrorBody
      const [field] = query.split('=')
      assert.deepEqual([errors?.length, errors?.[0]?.path, detail], [1, field, `${field} ${errors?.[0]?.message}`])
    }
  })

  test('the command uploads CSV and gzip, waits, and reports bad rows', async () => {
    const file = join(instance.dir, 'visits.csv')
    writeFileSync(file, 'ip,event_id,session_id,properties\n17.0.0.3,c1,42,"{""a"":1.0}"\n"17.0.0.4",c2,,\n')
    const { code, stdout } = await ipid('batch', 'upload', file, '--wait', '--json')
    assert.equal(code, 0)
    const job = JSON.parse(stdout) as BatchJob
    assert.deepEqual([job.status, job.result_summary!.processed, job.result_summary!.valid_ips], ['completed', 2, 2])
    const row = "SELECT session_id, account_id FROM events WHERE event_id = 'c1'"
    assert.equal(await instance.query(row), '42\tfruit.example')
    writeFileSync(file, 'IP;Note\n17.0.0.3;"on\ntwo lines"\n;no address\n17.0.0.4;fine\n')
    const named = JSON.parse((await ipid('batch', 'upload', file, '--wait', '--json')).stdout) as BatchJob
    assert.deepEqual(named.result_summary!.errors, [{ line: 4, detail: 'ip is required' }])
    const zipped = join(instance.dir, 'visits.ndjson.gz')
    writeFileSync(zipped, gzipSync('{"ip":"17.0.0.5","event_id":"z1"}\n'))
    const second = await ipid('batch', 'upload', zipped)
    assert.equal(second.code, 0, second.stderr)
    assert.match(second.stdout, /^received\s+1$/m)
    await until(async () => (await instance.query("SELECT count() FROM events WHERE event_id = 'z1'")) === '1')
    writeFileSync(file, 'address\n17.0.0.3\n')
    const wrong = await ipid('batch', 'upload', file)
    assert.equal(wrong.code, 2)
    assert.equal(
      wrong.stderr,
      'ipid: the CSV header has no column "ip"; it has address: say which is the address, as in --map \'address=ip\'\n',
    )
    assert.equal((await ipid('batch', 'upload', join(instance.dir, 'missing.csv'))).code, 2)
  })
})
