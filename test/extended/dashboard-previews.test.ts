import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { APPLE_PREVIEW, CSV, startUploads } from '../support/dashboard-uploads.ts'

test('a preview shows the outcome of each row, and detects address and time columns by content', async (t) => {
  const { preview } = await startUploads(t)
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
      ...{ becomes: APPLE_PREVIEW, repeat_of: null },
    },
    {
      ...{ line: 4, event: null, problem: 'timestamp "soon" is not a known form of date and time' },
      ...{ becomes: null, repeat_of: null },
    },
    {
      ...{ line: 5, event: '{"ip":"none"}', problem: 'ip "none" is not an address: the row is counted but not stored' },
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
  const { preview: odd } = await preview('__proto__,b\n17.0.0.1,x\n', { map: { ['__proto__']: 'ip', b: '__proto__' } })
  assert.deepEqual([odd.problem, odd.rows[0]!.event], [null, '{"ip":"17.0.0.1","__proto__":"x"}'])
  const many = Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`c${i}`, '']))
  assert.equal((await preview(CSV, { map: many })).status, 422)
  const { preview: json } = await preview('{"addr":"17.0.0.1","n":1.0}\n{"addr":7}\n', { map: { addr: 'ip' } })
  assert.deepEqual(
    json.rows.map(({ line, event, problem }) => ({ line, event, problem })),
    [
      { line: 1, event: '{"ip":"17.0.0.1","n":1.0}', problem: null },
      { line: 2, event: '{"ip":7}', problem: 'ip must be a string' },
    ],
  )
})

test('a preview judges rows as the pipeline does: by address, tenant rules and id', async (t) => {
  const { preview, tenants, client, asked } = await startUploads(t)
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
    // A filtered row takes no id.
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
  // No job, no quota, and no remembered id.
  assert.equal(await client.dbsize(), before)
})

test('a preview reads the beginning of a file, plain or gzip, wherever it is cut', async (t) => {
  const { preview, send } = await startUploads(t)
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
    [gzipSync(file).subarray(0, 20_001), /gzip data is damaged or truncated/],
    [Buffer.concat([gzipSync('ip\n').subarray(0, 12), Buffer.alloc(30, 7)]), /gzip data is damaged/],
  ]
  for (const [bytes, detail] of refused) {
    const { status, preview: found } = await preview(bytes)
    assert.equal(status, 422)
    assert.match(found.detail, detail)
  }
  assert.equal((await send(Buffer.alloc(600_000), {}, { what: 'upload-preview' })).status, 413)
  assert.equal((await send(Buffer.alloc(262_145), {}, { what: 'upload-preview' })).status, 413)
})
