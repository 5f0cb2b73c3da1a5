import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { BATCH_LIMITS, type BatchJob } from '../../schemas/api/batch.ts'
import type { UploadAnswer, UploadList } from '../../schemas/dashboard/uploads.ts'
import { UploadTooLargeError } from '../../src/pipeline/declaration/batch-jobs.ts'
import { UploadedFiles } from '../../src/pipeline/sources/batch/redis/uploaded-files.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { startFeeder } from '../support/batch.ts'
import type { DashboardClient } from '../support/dashboard.ts'
import { CSV, startUploads } from '../support/dashboard-uploads.ts'
import { sendRaw } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

/* Uploads of the dashboard as its pages send them, on a real Redis. */

test('a file becomes a job; invalid rows are counted and listed, without their content', async (t) => {
  const { redis, client, upload, member } = await startUploads(t)
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
    [{ line: 4, detail: 'timestamp is not a known form of date and time' }],
  )
  const file = await member.get(`/api/tenants/acme/uploads/${answer.job_id}/rejected`)
  assert.deepEqual(
    [file.headers.get('content-type'), file.headers.get('content-disposition')],
    ['application/x-ndjson', `attachment; filename="rejected-${answer.job_id}.ndjson"`],
  )
  const [unreadable, invalid] = (await file.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const detail = 'timestamp is not a known form of date and time'
  assert.deepEqual(unreadable, { line: 4, code: 'unreadable', detail })
  assert.deepEqual([invalid.line, invalid.code, JSON.parse(invalid.text).ip], [5, 'invalid_ip', 'none'])
})

test('refused and interrupted uploads leave nothing', async (t) => {
  const { send, upload, kept, dashboard, member } = await startUploads(t)
  const refused: [file: string | Buffer, choice: object, status: number, detail: RegExp][] = [
    [gzipSync(`ip\n${'17.0.0.1\n'.repeat(99_999)}`).subarray(0, 300), {}, 422, /gzip data is damaged or truncated/],
    [CSV, {}, 422, /no column "ip"/],
    ['ip,a\n"17.0.0.1', {}, 422, /no row is readable \(1 bad\); line 2 has a quote that is not closed/],
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
  assert.deepEqual(await kept(), [0, 0, 0, 0, 0])

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

test('file bytes count, the converted rows fit, and a too long upload says how far it came', async (t) => {
  const { upload, preview, member, jobs, kept, dashboard } = await startUploads(t, {
    bytesMax: 300,
    eventBytesMax: 700,
  })
  const row = (n: number) => `17.0.0.${n},${n}\n`
  // 254 bytes that become 682 as NDJSON.
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
  assert.equal(large.answer.detail, 'the file must have at most 300 bytes, decompressed')
  const wide = `ip,${'k'.repeat(100)}\n${row(1).repeat(9)}`
  const { status, answer } = await upload(wide)
  assert.equal(status, 413)
  const far = `the first ${wide.length} bytes of the file (without gzip) take more than 700 bytes as NDJSON`
  assert.equal(answer.detail, `${far}, where each row has the names of its columns`)
  // The rest of a file that is too large is not read.
  const headers = { cookie: member.cookie, 'x-csrf-token': member.csrfToken, 'content-length': '200000000' }
  const port = Number(new URL(dashboard.url).port)
  assert.equal((await sendRaw(port, '/api/tenants/acme/uploads', headers, '{')).status, 413)
  assert.deepEqual(await kept(), before)
  const small = await jobs.begin('other', false, 'full', { bytesMax: 20 })
  await small.write(Buffer.alloc(20))
  await assert.rejects(small.write(Buffer.alloc(1)), UploadTooLargeError)
  await small.abort()
})

test('a job is listed with its file name, cut and without control characters', async (t) => {
  const { upload, member, jobs } = await startUploads(t)
  const names = async () =>
    (await member.read<UploadList>('/api/tenants/acme/uploads')).jobs.map((job) => job.file_name)
  const { answer } = await upload('ip\n17.0.0.1\n', { name: ' visits\u0000\u001b[31m\u202efdp.csv\n' })
  await upload('ip\n17.0.0.2\n', { name: `${'é'.repeat(300)}.csv` })
  const api = await jobs.begin('acme')
  await api.write(Buffer.from('{"ip":"17.0.0.3"}\n'))
  const { jobId } = await api.complete()
  assert.deepEqual((await names()).sort(), [`${'é'.repeat(199)}…`, 'visits[31mfdp.csv', null].sort())
  // The answers of the API have not changed.
  const { file_name: _, ...listed } = (await member.read<UploadList>('/api/tenants/acme/uploads')).jobs.at(-1)!
  assert.deepEqual((await jobs.list('acme', { limit: 5, before: undefined }))!.jobs.at(-1), listed)
  assert.ok(!('file_name' in (await jobs.find('acme', answer.job_id))!))
  assert.equal((await jobs.fileNames('other', [answer.job_id, jobId])).size, 0)
})

test('the same file does not count twice by accident, but does on request', async (t) => {
  const { upload, list, client } = await startUploads(t)
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
  // A browser that repeats the same request.
  assert.deepEqual((await upload(file, { again: first })).answer.job_id, again.answer.job_id)
  assert.equal((await list()).length, 2)
  // After an upload died only its claim is left.
  const dead = keys.uploadedFile('acme', 'd')
  await client.set(dead, 'nobody')
  assert.equal(await new UploadedFiles(client).claim('acme', 'd', 'new'), undefined)
  assert.equal(await client.get(dead), 'new')
})

test('a tenant sees and ends only its own jobs, up to a limit at once', async (t) => {
  const { send, upload, dashboard, member, list } = await startUploads(t)
  const operator = await dashboard.signIn()
  const theirs = (await (await send('ip\n17.0.0.9\n', {}, { tenant: 'other', by: operator })).json()) as UploadAnswer
  assert.equal(theirs.status, 'queued')
  for (const what of ['uploads', 'upload-preview']) {
    assert.equal((await send('ip\n17.0.0.1\n', {}, { tenant: 'other', what })).status, 404)
  }
  assert.equal((await member.get('/api/tenants/other/uploads')).status, 404)
  for (const tenant of ['acme', 'other']) {
    assert.equal((await member.get(`/api/tenants/${tenant}/uploads/${theirs.job_id}`)).status, 404)
    assert.equal((await member.get(`/api/tenants/${tenant}/uploads/${theirs.job_id}/rejected`)).status, 404)
    assert.equal((await member.post(`/api/tenants/${tenant}/uploads/${theirs.job_id}/cancel`)).status, 404)
  }
  assert.equal((await member.get(`/api/tenants/acme/uploads?before=${theirs.job_id}`)).status, 422)
  // Another tenant's upload is no repeat.
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
