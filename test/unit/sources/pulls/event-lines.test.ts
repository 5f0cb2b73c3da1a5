import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { PullRefusedError } from '../../../../src/pipeline/declaration/pull.ts'
import { NO_PAGE_LINE, rejectedLine } from '../../../../src/pipeline/sources/batch/read-chunk.ts'
import { type EventLines, eventLines } from '../../../../src/pipeline/sources/pulls/event-lines.ts'

const AT_MS = Date.UTC(2026, 10, 20)
const LINE = '17.1.2.3 - - [20/Nov/2026:10:00:00 +0000] "GET /pricing HTTP/1.1" 200 512 "-" "Mozilla/5.0"'

async function* piecesOf(bytes: Buffer, size = bytes.length): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(files: readonly Buffer[], { skip = 0, id = 'object', size = 1_000, format = 'auto' } = {}) {
  async function* all() {
    for (const bytes of files) yield { bytes: piecesOf(bytes, size) }
  }
  const found: EventLines[] = []
  for await (const lines of eventLines(all(), { id, format, atMs: AT_MS, skip })) found.push(lines)
  const text = Buffer.concat(found.map(({ bytes }) => bytes)).toString()
  return {
    events: text === '' ? [] : text.trimEnd().split('\n'),
    lines: found.reduce((sum, { lines }) => sum + lines, 0),
    rejected: found.reduce((sum, { rejected }) => sum + rejected, 0),
    noPage: found.reduce((sum, { noPage }) => sum + noPage, 0),
    read: found.at(-1)?.read,
    pieces: found,
  }
}

const log = (lines: number) => Buffer.from(Array.from({ length: lines }, () => `${LINE}\n`).join(''))

test('a log and its gzip become the same events, with ids of item and line', async () => {
  const plain = await read([log(30)])
  assert.equal(plain.lines, 30)
  assert.deepEqual(await read([gzipSync(log(30))], { size: 7 }).then(({ events }) => events), plain.events)
  const events = plain.events.map((line) => JSON.parse(line) as { ip: string; event_id: string; url: string })
  assert.equal(new Set(events.map(({ event_id }) => event_id)).size, 30)
  assert.equal(events[0]!.ip, '17.1.2.3')
  assert.match(events[0]!.event_id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const other = await read([log(30)], { id: 'another object' })
  assert.notEqual((JSON.parse(other.events[0]!) as { event_id: string }).event_id, events[0]!.event_id)
})

test('messages of a container before its first request, and what is around its lines, do not hide the format', async () => {
  const cri = (text: string) => `2026-11-20T10:00:00.123456789Z stdout F ${text}\n`
  const start = Array.from({ length: 25 }, (_, i) => cri(`step ${i}`))
  const { events, rejected } = await read([Buffer.from([...start, cri(LINE)].join(''))])
  assert.equal(rejected, 25)
  assert.equal(JSON.parse(events.at(-1)!).ip, '17.1.2.3')
  const named = await read([Buffer.from(cri(LINE))], { format: 'combined' })
  assert.equal(JSON.parse(named.events[0]!).url, '/pricing')
  await assert.rejects(read([Buffer.from(start.join(''))]), /no format of exports or logs is recognised/)
})

test('an unknown format is refused after a few long lines', async () => {
  let made = 0
  async function* longLines() {
    for (; made < 200; made++) yield Buffer.from(`${'x '.repeat(100_000)}\n`)
  }
  async function* files() {
    yield { bytes: longLines() }
  }
  const read = eventLines(files(), { id: 'object', format: 'auto', atMs: AT_MS, skip: 0 })
  await assert.rejects(read.next(), PullRefusedError)
  assert.ok(made < 50, String(made))
})

test('a part of a line whose rest does not come is a rejected line', async () => {
  const cri = (tag: string, text: string) => `2026-11-20T10:00:00.123456789Z stdout ${tag} ${text}\n`
  const { events, rejected } = await read([Buffer.from(cri('F', LINE) + cri('P', LINE.slice(0, 20)))])
  assert.deepEqual([events.length, rejected], [2, 1])
  assert.match(events[1]!, /its rest is missing/)
})

test('a request that is no page view is a line that counts it, and a comment is none', async () => {
  const asset = LINE.replace('/pricing', '/s.css')
  const noAgent = LINE.replace('Mozilla/5.0', '-')
  const { events, ...counts } = await read([Buffer.from([LINE, asset, '', noAgent, 'nonsense'].join('\n'))])
  assert.deepEqual(events.slice(1), [
    NO_PAGE_LINE,
    NO_PAGE_LINE,
    rejectedLine('is not a line of the Common Log Format'),
  ])
  assert.deepEqual([counts.lines, counts.rejected, counts.noPage, counts.read], [4, 1, 2, 5])
  const w3c = ['#Version: 1.0', '#Fields: date time c-ip cs-method cs-uri-stem sc-status']
  const requests = ['/a', '/b.png'].map((path) => `2026-11-20 10:00:00 17.1.2.3 GET ${path} 200`)
  const found = await read([Buffer.from([...w3c, ...requests].join('\n'))])
  assert.deepEqual([found.lines, found.noPage, found.events[1]], [2, 1, NO_PAGE_LINE])
  // An item of such lines only.
  assert.deepEqual((await read([Buffer.from(`${asset}\n`.repeat(30))])).events, Array(30).fill(NO_PAGE_LINE))
})

test('members of a gzip file are read to the last one', async () => {
  const { lines } = await read([Buffer.concat([gzipSync(log(25)), gzipSync(log(5))])])
  assert.equal(lines, 30)
})

test('lines that were taken before are left out, and the others keep their ids', async () => {
  const all = await read([log(40), log(10)])
  assert.equal(all.read, 50)
  for (const piece of all.pieces.slice(0, -1)) {
    const rest = await read([log(40), log(10)], { skip: piece.read })
    assert.deepEqual(rest.events, all.events.slice(piece.read))
  }
})

test('a text with JSON that is too deep rejects its line, and stops no other', async () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const event = (properties: string) =>
    JSON.stringify({ uuid: 'u', distinct_id: 'd', event: 'e', timestamp: '2026-11-20T10:00:00Z', properties })
  const posthog = [event(`{"x":${deep}}`), event('{"n":12345678901234567890}')]
  const enriched = ['{"data":[1]}', `{"data":${deep}}`, '{"data":[12345678901234567890]}'].map((contexts) => {
    const columns = Array.from({ length: 131 }, () => '')
    Object.assign(columns, { 3: '2026-11-20 10:00:00.000', 5: 'page_view', 13: '17.1.2.3', 52: contexts })
    return columns.join('\t')
  })
  for (const [lines, format] of [
    [posthog, 'posthog'],
    [enriched, 'snowplow'],
  ] as const) {
    const found = await read([Buffer.from(`${lines.join('\n')}\n`)], { format })
    assert.deepEqual([found.lines, found.rejected], [lines.length, 1], format)
    assert.match(found.events.at(-1)!, /12345678901234567890[^"]/, format)
  }
})

test('a bad line is a rejected line, and stops no other', async () => {
  const text = Buffer.concat([log(20), Buffer.from('nonsense\n\n  \n'), Buffer.from([0xff, 10]), log(1)])
  const { events, lines, rejected } = await read([text])
  assert.deepEqual([lines, rejected], [23, 2])
  assert.match(events[20]!, /^\0row is not a line of the Common Log Format$/)
  assert.match(events[21]!, /^\0row is not UTF-8/)
})

test('a file without lines is done, and one line without an end counts', async () => {
  assert.equal((await read([Buffer.alloc(0)])).lines, 0)
  assert.equal((await read([Buffer.from('\n\n')])).lines, 0)
  assert.equal((await read([gzipSync(Buffer.alloc(0))])).lines, 0)
  assert.equal((await read([Buffer.from(LINE)])).lines, 1)
})

test('content that cannot be read is refused in words', async () => {
  const cases: readonly (readonly [Buffer, RegExp])[] = [
    [Buffer.from('PAR1\x15\x04'), /^it is Parquet: let the export write JSON lines/],
    [Buffer.from('PK\x03\x04...'), /^it is a ZIP archive/],
    [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]), /^it is compressed with zstd/],
    [Buffer.from('Enable AccessLog for ELB\n'), /^no format of exports or logs is recognised in its first lines/],
    [Buffer.from([0xff, 10]), /^no format/],
    [Buffer.from('\n'.repeat(20_000)), /^no format/],
    [gzipSync(log(1_000)).subarray(0, 200), /^its gzip data is damaged: unexpected end of file/],
  ]
  for (const [bytes, message] of cases) {
    await assert.rejects(read([bytes]), (error: Error) => {
      assert.ok(error instanceof PullRefusedError, String(error))
      assert.match(error.message, message)
      return true
    })
  }
})

test('a source whose first bytes are refused is ended', async () => {
  let isEnded = false
  async function* endless(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield Buffer.from('PAR1')
    } finally {
      isEnded = true
    }
  }
  async function* files() {
    yield { bytes: endless() }
  }
  await assert.rejects(eventLines(files(), { id: 'x', format: 'auto', atMs: AT_MS, skip: 0 }).next())
  assert.ok(isEnded)
})
