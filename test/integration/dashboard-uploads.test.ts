import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { BATCH_LIMITS, type BatchJob } from '../../schemas/api/batch.ts'
import type { UploadAnswer, UploadChoice, UploadList, UploadPreview } from '../../schemas/dashboard/uploads.ts'
import { UploadTooLargeError } from '../../src/batch/jobs.ts'
import type { Address } from '../../src/core/event/address.ts'
import type { Enricher } from '../../src/core/event/enrichment.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import { type UploadParts, uploadRoutes } from '../../src/dashboard/server/routes/uploads.ts'
import { enrichmentOf, NOTHING_KNOWN } from '../../src/enrichment/answers/answer.ts'
import { RedisUploadedFiles } from '../../src/redis/batch/uploaded-files.ts'
import { keys } from '../../src/redis/keys.ts'
import { RedisTenantStore } from '../../src/redis/tenants/tenant-store.ts'
import { pipelineJudge } from '../../src/roles/dashboard/uploads.ts'
import { startBatch, startFeeder } from '../support/batch.ts'
import { type DashboardClient, startDashboard } from '../support/dashboard.ts'
import { until } from '../support/until.ts'

/* Uploads of the dashboard as its pages make them, on a real Redis. */

const CREATED = '2026-01-01T00:00:00.000Z'

const apple = enrichmentOf({
  noise: false,
  classification: 'business',
  quality: 90,
  data: { business_name: 'Apple', domain: 'apple.com', country_code: 'US' },
  companyId: 'apple.com',
})
const host = enrichmentOf({ noise: true, classification: 'hosting', quality: 70, data: {}, companyId: '' })
/** 17.… is Apple, 203.… a hosting provider, of all others nothing is known. */
const known: Enricher = {
  enrich: ({ text }) => (text.startsWith('17.') ? apple : text.startsWith('203.') ? host : NOTHING_KNOWN),
}
const OF_APPLE = {
  ...{ status: 'ok', company: 'Apple', domain: 'apple.com', country_code: 'US', classification: 'business' },
  ...{ quality: 90, rule: null, filtered_as: null },
}

async function start(t: TestContext, limits?: UploadParts['limits']) {
  const { redis, client, jobs } = await startBatch(t)
  const tenants = new RedisTenantStore(client)
  for (const id of ['acme', 'other']) {
    await tenants.createTenant({ id, plan: 'starter', archive: false, addresses: 'full', createdAt: CREATED })
  }
  const asked: string[] = []
  const prefetch = async (addresses: readonly Address[]) => void asked.push(...addresses.map(({ text }) => text))
  const judge = pipelineJudge({ enricher: known, hostnames: { prefetch } })
  const uploads = { jobs, uploadedFiles: new RedisUploadedFiles(client), openJobsMax: 3, judge, limits }
  const routes = [sessionRoute({ tenants, version: '1.2.3', apiUrl: null }), ...uploadRoutes(uploads)]
  const dashboard = await startDashboard(t, client, routes)
  const member = await dashboard.signIn({ role: 'member', tenant: { id: 'acme', createdAt: CREATED } })
  const send = (
    file: string | Buffer,
    choice: Partial<UploadChoice> = {},
    { what = 'uploads', tenant = 'acme', by = member, raw = false } = {},
  ) =>
    fetch(`${dashboard.url}/api/tenants/${tenant}/${what}`, {
      method: 'POST',
      headers: { cookie: by.cookie, 'x-csrf-token': by.csrfToken },
      body: bodyOf(file, raw ? undefined : { name: 'file', ...choice }),
    })
  const preview = async (file: string | Buffer, choice: Partial<UploadChoice> = {}) => {
    const response = await send(file, { whole: true, ...choice }, { what: 'upload-preview' })
    return { status: response.status, preview: (await response.json()) as UploadPreview & { detail: string } }
  }
  const upload = async (file: string | Buffer, choice: Partial<UploadChoice> = {}) => {
    const response = await send(file, choice)
    return { status: response.status, answer: (await response.json()) as UploadAnswer & { detail: string } }
  }
  const list = async (by: DashboardClient = member) => (await by.read<UploadList>('/api/tenants/acme/uploads')).jobs
  /** Jobs and uploads of which anything is there. */
  const kept = async () => [
    await client.hlen(keys.openJobs()),
    (await list()).length,
    (await client.keys(keys.upload('*'))).length,
    (await client.keys(keys.chunks('*'))).length,
  ]
  return { redis, client, jobs, tenants, asked, dashboard, member, send, preview, upload, list, kept }
}

function bodyOf(file: string | Buffer, choice: object | undefined): Uint8Array {
  const line = choice === undefined ? '' : `${JSON.stringify(choice)}\n`
  return new Uint8Array(Buffer.concat([Buffer.from(line), Buffer.from(file)]))
}

const CSV = 'Visitor IP,When,Page\n17.0.0.1,2026-11-22 08:00,/a\n\n17.0.0.2,soon,/b\nnone,,/c\n'

test('a preview says what each row would become, and guesses address and time by what is in them', async (t) => {
  const { preview } = await start(t)
  const bare = (await preview(CSV)).preview
  assert.match(bare.problem!, /no column "ip"; it has Visitor IP, When, Page: .* such as the column "Visitor IP"/)
  assert.deepEqual(bare.rows, [])
  const { preview: guessed } = await preview(CSV, { guess: true })
  assert.deepEqual(guessed.columns, [
    { name: 'Visitor IP', key: 'ip', example: '17.0.0.1' },
    { name: 'When', key: 'timestamp', example: '2026-11-22 08:00' },
    { name: 'Page', key: 'Page', example: '/a' },
  ])
  const map = { 'Visitor IP': 'ip', When: 'timestamp', Page: '' }
  const { preview: mapped } = await preview(CSV, { map })
  assert.deepEqual([mapped.format, mapped.delimiter, mapped.problem], ['csv', ',', null])
  assert.deepEqual(mapped.rows, [
    {
      ...{ line: 2, event: '{"ip":"17.0.0.1","timestamp":"2026-11-22T08:00:00.000Z"}', problem: null },
      ...{ becomes: OF_APPLE, repeat_of: null },
    },
    {
      ...{ line: 4, event: null, problem: 'timestamp "soon" is not a date and time that is understood' },
      ...{ becomes: null, repeat_of: null },
    },
    {
      ...{ line: 5, event: '{"ip":"none"}', problem: 'ip "none" is no address: the row is counted, and not stored' },
      ...{ becomes: null, repeat_of: null },
    },
  ])
  assert.deepEqual(mapped.sample, { bytes: CSV.length, plain_bytes: CSV.length, lines: 5, event_bytes: 73 })
  const times = 'addr;created_at\n17.0.0.1;01/02/2026\n17.0.0.2;01/03/2026\n'
  const { preview: dated } = await preview(times, { guess: true })
  assert.deepEqual(
    dated.columns.map(({ key }) => key),
    ['ip', 'timestamp'],
  )
  assert.match(dated.rows[0]!.problem!, /may be day or month first: choose the order of dates/)
  const { preview: json } = await preview('{"addr":"17.0.0.1","n":1.0}\n{"addr":7}\n', { map: { addr: 'ip' } })
  assert.deepEqual(
    json.rows.map(({ line, event, problem }) => ({ line, event, problem })),
    [
      { line: 1, event: '{"ip":"17.0.0.1","n":1.0}', problem: null },
      { line: 2, event: '{"ip":7}', problem: 'ip must be a string' },
    ],
  )
})

test('a preview judges each row as the pipeline will: by its address, the rules of the tenant and its id', async (t) => {
  const { preview, tenants, client, asked } = await start(t)
  const file = [
    'ip,event_id',
    ...['17.0.0.1,a', '17.9.0.1,a', '203.0.113.1,b', '17.0.0.2,b', '17.0.0.3,b', '9.0.0.1,c', 'none,a', '17.9.0.1,'],
  ].join('\n')
  const before = await client.dbsize()
  const seen = async () =>
    (await preview(file)).preview.rows.map(({ line, becomes, repeat_of: repeat }) => {
      if (becomes === null) return [line, null]
      const { status, company, rule, filtered_as: as } = becomes
      return [line, status, company, rule, as, repeat]
    })
  assert.deepEqual(await seen(), [
    [2, 'ok', 'Apple', null, null, null],
    [3, 'ok', 'Apple', null, null, 2],
    [4, 'filtered', null, null, null, null],
    // What is filtered takes no id.
    [5, 'ok', 'Apple', null, null, null],
    [6, 'ok', 'Apple', null, null, 5],
    [7, 'ok', null, null, null, null],
    [8, null],
    [9, 'ok', 'Apple', null, null, null],
  ])
  assert.deepEqual(asked, ['17.0.0.1', '17.9.0.1', '203.0.113.1', '17.0.0.2', '17.0.0.3', '9.0.0.1', '17.9.0.1'])
  await tenants.changeRules('acme', ['own 17.9.0.0/16', 'never-noise 203.0.113.0/24'], [])
  assert.deepEqual((await seen()).slice(0, 3), [
    [2, 'ok', 'Apple', null, null, null],
    [3, 'filtered', 'Apple', 'own 17.9.0.0/16', 'own', null],
    [4, 'ok', null, 'never-noise 203.0.113.0/24', null, null],
  ])
  // No job, no count of a quota, nothing remembered of an id.
  assert.equal(await client.dbsize(), before)
})

test('a preview reads the beginning of a file, plain or gzip, wherever it is cut', async (t) => {
  const { preview, send } = await start(t)
  const rows = Array.from({ length: 50_000 }, (_, i) => `17.0.${i % 256}.1,"row\n${i}"`)
  const file = Buffer.from(`ip,note\n${rows.join('\n')}\n`)
  for (const bytes of [file.subarray(0, 262_144), gzipSync(file).subarray(0, 20_001)]) {
    const { preview: found } = await preview(bytes, { whole: false })
    assert.equal(found.problem, null)
    assert.deepEqual(found.rows.map(({ line }) => line).slice(0, 3), [2, 4, 6])
    assert.ok(found.rows.length === 20 && found.rows.every(({ problem }) => problem === null))
    assert.ok(found.sample.bytes <= bytes.length && found.sample.lines > 1_000)
  }
  const bomb = await preview(gzipSync(Buffer.alloc(50_000_000, ' ')), { whole: true })
  assert.deepEqual([bomb.status, bomb.preview.detail], [422, 'file is empty'])
  const refused: [file: string | Buffer, detail: RegExp][] = [
    ['', /is empty/],
    ['PK\x03\x04', /Excel workbook/],
    ['[{"ip":"x"}]', /one JSON array/],
    [gzipSync(file).subarray(0, 20_001), /gzip is broken or cut off/],
    [Buffer.concat([gzipSync('ip\n').subarray(0, 12), Buffer.alloc(30, 7)]), /gzip is broken/],
  ]
  for (const [bytes, detail] of refused) {
    const { status, preview: found } = await preview(bytes)
    assert.equal(status, 422)
    assert.match(found.detail, detail)
  }
  assert.equal((await send(Buffer.alloc(600_000), {}, { what: 'upload-preview' })).status, 413)
  assert.equal((await send(Buffer.alloc(262_145), {}, { what: 'upload-preview' })).status, 413)
})

test('a file becomes a job; rows that are no events are counted, and named without what they say', async (t) => {
  const { redis, client, upload, member } = await start(t)
  const stop = await startFeeder(redis)
  t.after(stop)
  const { status, answer } = await upload(gzipSync(CSV), { map: { 'visitor ip': 'ip', When: 'timestamp' } })
  assert.deepEqual([status, answer.status, answer.received], [202, 'queued', 3])
  const job = await until(async () => {
    const found = await member.read<BatchJob>(`/api/tenants/acme/uploads/${answer.job_id}`)
    return found.progress_current === 2 ? found : undefined
  })
  assert.equal(job.progress_total, 3)
  const errors = await client.lrange(keys.jobErrors(answer.job_id), 0, -1)
  assert.deepEqual(
    errors.map((text) => JSON.parse(text)),
    [{ line: 4, detail: 'timestamp is not a date and time that is understood' }],
  )
})

test('what is refused, and what breaks off, leaves nothing', async (t) => {
  const { send, upload, kept, dashboard, member } = await start(t)
  const refused: [file: string | Buffer, choice: object, status: number, detail: RegExp][] = [
    [gzipSync(`ip\n${'17.0.0.1\n'.repeat(99_999)}`).subarray(0, 300), {}, 422, /gzip is broken or cut off/],
    [CSV, {}, 422, /no column "ip"/],
    ['ip,a\n"17.0.0.1', {}, 422, /none of the 1 rows can be read; line 2 has a quote that is not closed/],
    ['ip,"a\n17.0.0.1\n', {}, 422, /the CSV header, line 1, has a quote that is not closed/],
    ['ip,a\n', {}, 422, /no events/],
    [' \n\n', {}, 422, /is empty/],
    [CSV, { map: { Nobody: 'ip' } }, 422, /the mapping names a column "Nobody"/],
    [CSV, { encoding: 'klingon' }, 422, /encoding must be a name/],
    [CSV, { format: 'xml' }, 422, /format must be/],
    [`ip\n${'1\n'.repeat(BATCH_LIMITS.linesMax + 1)}`, {}, 413, /more than 1000000 lines/],
    [gzipSync(`ip\n${'\n'.repeat(5_000_000)}17.0.0.1\n`), {}, 422, /more than 4000000 lines, most of them blank/],
  ]
  for (const [file, choice, status, detail] of refused) {
    const { status: found, answer } = await upload(file, choice)
    assert.equal(found, status, answer.detail)
    assert.match(answer.detail, detail)
  }
  assert.equal((await send('', {}, { raw: true })).status, 400)
  assert.equal((await send('a'.repeat(300_000), {}, { raw: true })).status, 400)
  assert.equal((await send('ip\n17.0.0.1\n', {}, { raw: true })).status, 400)
  assert.deepEqual(await kept(), [0, 0, 0, 0])

  const { hostname, port } = new URL(dashboard.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const head = [
    'POST /api/tenants/acme/uploads HTTP/1.1',
    `host: ${hostname}:${port}`,
    `cookie: ${member.cookie}`,
    `x-csrf-token: ${member.csrfToken}`,
    'content-length: 10000000',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n{"name":"x"}\nip\n${'17.0.0.1\n'.repeat(100_000)}`)
  await until(async () => (await kept())[3] === 1)
  socket.resetAndDestroy()
  await until(async () => (await kept()).every((count) => count === 0))
})

test('the bytes of a file count, and what it becomes has room; who is beyond is told how far it came', async (t) => {
  const { upload, preview, member, jobs, kept } = await start(t, { bytesMax: 300, eventBytesMax: 700 })
  const row = (n: number) => `17.0.0.${n},${n}\n`
  // 254 bytes that take 682 as NDJSON.
  const file = `ip,platform\n${Array.from({ length: 20 }, (_, i) => row(i + 1)).join('')}`
  const { sample } = (await preview(gzipSync(file))).preview
  assert.deepEqual([sample.plain_bytes, sample.lines], [file.length, 21])
  assert.ok(file.length < 300 && sample.event_bytes > 300 && sample.event_bytes <= 700)
  assert.equal((await upload(gzipSync(file))).status, 202)
  const { limits } = await member.read<UploadList>('/api/tenants/acme/uploads')
  assert.deepEqual([limits.bytes_max, limits.event_bytes_max], [300, 700])
  const before = await kept()
  const large = await upload(gzipSync(`${file}${row(1).repeat(10)}`))
  assert.equal(large.status, 413)
  assert.equal(large.answer.detail, 'the file has more than 300 bytes, counted without gzip')
  const wide = `ip,${'k'.repeat(100)}\n${row(1).repeat(9)}`
  const { status, answer } = await upload(wide)
  assert.equal(status, 413)
  const far = `the first ${wide.length} bytes of the file (without gzip) take more than 700 bytes as NDJSON`
  assert.equal(answer.detail, `${far}, where each row has the names of its columns`)
  assert.deepEqual(await kept(), before)
  const small = await jobs.begin('other', false, 'full', { bytesMax: 20 })
  await small.write(Buffer.alloc(20))
  await assert.rejects(small.write(Buffer.alloc(1)), UploadTooLargeError)
  await small.abort()
})

test('a job is listed with the name of its file, which is cut and holds nothing that could mislead', async (t) => {
  const { upload, member, jobs } = await start(t)
  const names = async () =>
    (await member.read<UploadList>('/api/tenants/acme/uploads')).jobs.map((job) => job.file_name)
  const { answer } = await upload('ip\n17.0.0.1\n', { name: ' visits\u0000\u001b[31m\u202efdp.csv\n' })
  await upload('ip\n17.0.0.2\n', { name: `${'é'.repeat(300)}.csv` })
  const api = await jobs.begin('acme')
  await api.write(Buffer.from('{"ip":"17.0.0.3"}\n'))
  const { jobId } = await api.complete()
  assert.deepEqual((await names()).sort(), [`${'é'.repeat(199)}…`, 'visits[31mfdp.csv', null].sort())
  // The answers of the API are as they were.
  const { file_name: _, ...listed } = (await member.read<UploadList>('/api/tenants/acme/uploads')).jobs.at(-1)!
  assert.deepEqual((await jobs.list('acme', { limit: 5, before: undefined })).jobs.at(-1), listed)
  assert.ok(!('file_name' in (await jobs.find('acme', answer.job_id))!))
  assert.equal((await jobs.fileNames('other', [answer.job_id, jobId])).size, 0)
})

test('the same file does not count twice unnoticed, and does when that is wanted', async (t) => {
  const { upload, list, client } = await start(t)
  const file = 'ip\n17.0.0.1\n'
  const [one, two] = await Promise.all([upload(file), upload(file)])
  const statuses = [one, two].map(({ answer }) => answer.status).sort()
  assert.deepEqual(statuses, ['queued', 'repeated'])
  assert.equal(one.answer.job_id, two.answer.job_id)
  const first = one.answer.job_id
  assert.deepEqual((await upload(gzipSync(file), { map: { ip: 'ip' } })).answer, {
    status: 'repeated',
    job_id: first,
    received: 0,
  })
  assert.equal((await list()).length, 1)
  const again = await upload(file, { again: first })
  assert.deepEqual([again.status, again.answer.status], [202, 'queued'])
  // A browser that sends the same request once more.
  assert.deepEqual((await upload(file, { again: first })).answer.job_id, again.answer.job_id)
  assert.equal((await list()).length, 2)
  // Of an upload that died nothing is left but its claim.
  const dead = keys.uploadedFile('acme', 'd')
  await client.set(dead, 'nobody')
  assert.equal(await new RedisUploadedFiles(client).claim('acme', 'd', 'new'), undefined)
  assert.equal(await client.get(dead), 'new')
})

test('a tenant sees and ends its own jobs only, and has so many at once', async (t) => {
  const { send, upload, dashboard, member, list } = await start(t)
  const operator = await dashboard.signIn()
  const theirs = (await (await send('ip\n17.0.0.9\n', {}, { tenant: 'other', by: operator })).json()) as UploadAnswer
  assert.equal(theirs.status, 'queued')
  for (const what of ['uploads', 'upload-preview']) {
    assert.equal((await send('ip\n17.0.0.1\n', {}, { tenant: 'other', what })).status, 404)
  }
  assert.equal((await member.get('/api/tenants/other/uploads')).status, 404)
  for (const tenant of ['acme', 'other']) {
    assert.equal((await member.get(`/api/tenants/${tenant}/uploads/${theirs.job_id}`)).status, 404)
    assert.equal((await member.post(`/api/tenants/${tenant}/uploads/${theirs.job_id}/cancel`)).status, 404)
  }
  assert.equal((await member.get(`/api/tenants/acme/uploads?before=${theirs.job_id}`)).status, 422)
  // What another tenant has uploaded is no repeat.
  const own = await upload('ip\n17.0.0.9\n')
  assert.equal(own.answer.status, 'queued')
  assert.deepEqual(
    (await list()).map(({ job_id }) => job_id),
    [own.answer.job_id],
  )
  const cancel = () => member.post(`/api/tenants/acme/uploads/${own.answer.job_id}/cancel`)
  const cancelled = (await (await cancel()).json()) as BatchJob
  assert.deepEqual([cancelled.status, cancelled.progress_message], ['failed', 'cancelled'])
  for (const n of [1, 2, 3]) assert.equal((await upload(`ip\n17.0.0.${n}\n`)).status, 202)
  assert.equal((await upload('ip\n17.0.0.4\n')).status, 429)
  assert.equal((await send('ip\n1\n', {}, { by: { ...operator, csrfToken: 'x' } as DashboardClient })).status, 403)
  assert.equal((await operator.read<UploadList>('/api/tenants/other/uploads')).jobs.length, 1)
})
