import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import { NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'
import type { BlankGap, ChunkContext, ChunkReading } from '../../../src/pipeline/declaration/source.ts'
import { type Block, identityAt, rowAt, rowEnds } from '../../../src/pipeline/event/block.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { TOO_LONG } from '../../../src/pipeline/sources/batch/line-chunker.ts'
import { NO_PAGE_LINE, readChunk, rejectedLine } from '../../../src/pipeline/sources/batch/read-chunk.ts'
import { company, readWhole } from '../../support/batch.ts'

const LINE_END = Buffer.from('\n')
const context: ChunkContext = {
  tenantId: 'acme',
  receivedAtMs: Date.UTC(2026, 10, 21, 23, 59, 59, 4),
  job: 'b6f5a3f2-0000-4000-8000-000000000000',
  partitions: 3,
  check: compileValidator(EventEnvelope),
  enricher: { enrich: () => company },
}
const VARIANTS: readonly ChunkContext[] = [context, { ...context, archived: true }, { ...context, isJudged: true }]

/** Lines of every kind that is read in its own way, and some that would change meaning together with the next one. */
const LINES = [
  '{"ip":"192.0.2.1"}',
  '{"ip":"192.0.2.2","event_id":"a"}\r',
  ' {"ip" : "192.0.2.3" , "event_id":"b","properties":{"k": 1.0}}\t\r',
  '{"ip":"192.0.2.4","timestamp":"2026-11-20T23:30:00-01:00","account_id":"é 日","session_id":-7,"x":[1]}',
  '{"ip":"2001:db8::1","event_id":"\\u00e9\\t","platform":"\\"","properties":"a\\\\b"}',
  '{"ip":"nowhere","event_id":"c"}',
  '{"ip":"192.0.2.5","event_type":"page\\nview","user_properties":[],"timestamp":"yesterday"}',
  '{"no":"ip"}',
  `{"ip":"192.0.2.10","event_id":"long","x":"${'y'.repeat(40_000)}"}`,
  '{"ip":"192.0.2.6"',
  ',"event_id":"d"}',
  '{"ip":"192.0.2.7"}{"ip":"192.0.2.8"}',
  'nonsense',
  '"}',
  ' \t\r',
  TOO_LONG.toString('latin1').trimEnd(),
].map((line) => Buffer.from(line))
const NOT_UTF8 = Buffer.from('{"ip":"192.0.2.9","event_id":"\xff"}', 'latin1')

/** Repeatable. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function eventsOf(blocks: ReadonlyMap<number, Block>) {
  return [...blocks].flatMap(([partition, block]) => {
    const ends = rowEnds(block)
    return Array.from({ length: block.count }, (_, i) => {
      const row = rowAt(block, ends, i).toString('utf8')
      return { partition, identity: identityAt(block, i), state: block.states[i]!, row, job: block.job }
    })
  })
}

/** Counts and first lines of each reason. */
function reasonsOf(readings: readonly ChunkReading[]) {
  const reasons = new Map<string, { count: number; lines: number[] }>()
  for (const { reason, count, lines } of readings.flatMap(({ counts }) => counts.reasons)) {
    const known = reasons.get(reason) ?? { count: 0, lines: [] }
    reasons.set(reason, { count: known.count + count, lines: [...known.lines, ...lines].slice(0, 5) })
  }
  return reasons
}

/** In an order that does not depend on which lines were read together. */
function whole(readings: readonly ChunkReading[]) {
  const sorted = (blocks: (reading: ChunkReading) => ReadonlyMap<number, Block>) => {
    const events = readings.flatMap((reading) => eventsOf(blocks(reading)))
    return events.sort((a, b) => a.partition - b.partition)
  }
  const sum = (name: 'fed' | 'rejected' | 'invalidIp') => readings.reduce((all, { counts }) => all + counts[name], 0)
  const outcomes: Record<string, number> = {}
  for (const reading of readings) {
    for (const [key, events] of reading.outcomes) outcomes[key] = (outcomes[key] ?? 0) + events
  }
  return {
    events: sorted(({ blocks }) => blocks),
    outcomes,
    counts: { fed: sum('fed'), rejected: sum('rejected'), invalidIp: sum('invalidIp') },
    errors: readings.flatMap(({ counts }) => counts.errors),
    reasons: reasonsOf(readings),
    lines: readings
      .flatMap(({ counts }) => counts.lines ?? [])
      .map(({ text }) => text)
      .join(''),
    payloads: sorted(({ payloads }) => payloads).filter(({ row }) => !row.includes('\t!')),
  }
}

test('lines of a chunk are read the same as alone, at their place in the upload', () => {
  const pick = random(12)
  for (let round = 0; round < 40; round++) {
    const firstLine = 1 + pick(3) * 100
    // Some are read in several slices.
    const count = 1 + pick(round % 10 === 0 ? 600 : 30)
    const lines = Array.from({ length: count }, () => LINES[pick(LINES.length)]!)
    if (round % 4 === 0) lines.splice(pick(lines.length), 0, NOT_UTF8)
    if (firstLine === 1 && round % 3 === 0) lines[0] = Buffer.concat([Buffer.from('\ufeff'), lines[0]!])
    const gaps: BlankGap[] = []
    const numbers: number[] = []
    let behindGap = 0
    let line = firstLine
    for (const _ of lines) {
      if (behindGap > 0 && pick(8) === 0) {
        const blank = 1 + pick(5)
        gaps.push({ after: behindGap, blank })
        line += blank
        behindGap = 0
      }
      numbers.push(line++)
      behindGap++
    }
    const ended = lines.flatMap((bytes) => [bytes, LINE_END]).slice(0, round % 2 === 0 ? undefined : -1)
    for (const variant of VARIANTS) {
      const together = readWhole({ firstLine, gaps, bytes: Buffer.concat(ended) }, variant)
      const alone = lines.map((bytes, i) => readWhole({ firstLine: numbers[i]!, gaps: [], bytes }, variant))
      const wanted = whole(alone)
      assert.deepEqual(whole([together]), { ...wanted, errors: wanted.errors.slice(0, together.counts.errors.length) })
    }
  }
})

test('rejected lines have no text for a tenant whose addresses are masked', () => {
  const lines = ['{"ip":"192.0.2.1:443"}', '192.0.2.1', '{"ip":7,"x":"192.0.2.1"}', '{"ip":"192.0.2.1"}']
  const chunk = { firstLine: 1, gaps: [], bytes: Buffer.from(lines.join('\n')) }
  const keptOf = (variant: ChunkContext) =>
    (readWhole(chunk, variant).counts.lines ?? []).map(({ text }) => text).join('')
  const masked = keptOf({ ...context, mask: { keep: 'truncated', key: createSecretKey(Buffer.alloc(32)) } })
  assert.equal(masked.trimEnd().split('\n').length, 3)
  assert.doesNotMatch(masked, /192|text/)
  const texts = keptOf(context)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).text)
  assert.deepEqual(texts, lines.slice(0, 3))
})

test('chunks that are read in turns are read the same as alone', () => {
  const chunkOf = (name: string) => {
    const lines = Array.from(
      { length: 1_000 },
      (_, i) => `{"ip":"192.0.2.1","event_id":"${name}${i}","x":"${name.repeat(i % 40)}"}`,
    )
    return { firstLine: 1, gaps: [], bytes: Buffer.from(lines.join('\n')) }
  }
  const chunks = ['a', 'bc', 'é'].map(chunkOf)
  const readings = chunks.map((chunk) => readChunk(chunk, context))
  const read: ChunkReading[] = []
  let pauses = 0
  while (read.length < chunks.length) {
    for (const [i, reading] of readings.entries()) {
      const { done, value } = reading.next()
      if (value !== undefined) read[i] = value
      else if (!done) pauses++
    }
  }
  assert.ok(pauses >= 6, `${pauses} pauses`)
  for (const [i, chunk] of chunks.entries()) assert.deepEqual(whole([read[i]!]), whole([readWhole(chunk, context)]))
})

test('rows of lines: columns, escapes, and ids that depend on job and line only', () => {
  const read = (text: string, firstLine = 1) =>
    eventsOf(readWhole({ firstLine, gaps: [], bytes: Buffer.from(text) }, { ...context, partitions: 1 }).blocks)
  const time = '1795305599.004'
  const [bare, full, escaped] = read(
    '{"ip":"192.0.2.1","event_id":"a"}\n' +
      '{"ip":"192.0.2.2","event_id":"b","timestamp":"2026-11-20T00:00:00Z","event_type":"t","session_id":5,"platform":"p",' +
      '"properties":{"k": 1.0},"user_properties":[],"account_id":"mine","x":1}\n' +
      '{"ip":"192.0.2.3","event_id":"c","event_type":"a\\tb","properties":"\\n"}\n',
  ).map(({ row }) => row)
  assert.equal(bare, `192.0.2.1\tacme\ta\t${time}\t${time}\t\t\\N\t\t\t\t\t`)
  assert.equal(full, `192.0.2.2\tacme\tb\t${time}\t1795132800.000\tt\t5\tp\t{"k": 1.0}\t[]\t{"x":1}\tmine`)
  assert.equal(escaped, `192.0.2.3\tacme\tc\t${time}\t${time}\ta\\tb\t\\N\t\t"\\\\n"\t\t\t`)
  const made = read('{"ip":"192.0.2.1"}\n{"ip":"192.0.2.1"}').map(({ row }) => row.split('\t')[2])
  const [second] = read('{"ip":"192.0.2.1"}', 2).map(({ row }) => row.split('\t')[2])
  assert.notEqual(made[0], made[1])
  assert.equal(made[1], second)
})

const plain = { tenantId: 'acme', receivedAtMs: 1_700_000_000_000, partitions: 1, check: () => [] }

/** Ids of the events of two lines that have none. */
function idsOf(job: string, firstLine = 1): string[] {
  const bytes = Buffer.from('{"ip":"192.0.2.1"}\n{"ip":"192.0.2.1"}\n')
  const enricher = { enrich: () => NOTHING_KNOWN }
  const block = readWhole({ firstLine, gaps: [], bytes }, { ...plain, job, enricher }).blocks.get(0)!
  const ends = rowEnds(block)
  return [0, 1].map((i) => rowAt(block, ends, i).toString().split('\t')[2]!)
}

test('a made id depends on job and line only, so a line read again is the same event', () => {
  const ids = idsOf('job-1')
  assert.deepEqual(idsOf('job-1'), ids)
  assert.deepEqual(idsOf('job-1', 2)[0], ids[1])
  assert.equal(new Set([...ids, ...idsOf('job-2')]).size, 4)
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('reasons of rejected lines quote no line, and are bounded', () => {
  const groups = (lines: readonly string[]) => {
    return readWhole({ firstLine: 1, gaps: [], bytes: Buffer.from(lines.join('\n')) }, context).counts.reasons
  }
  const broken = Array.from({ length: 7 }, (_, i) => `secret ${i}`)
  assert.deepEqual(groups(broken), [{ reason: 'is not JSON', count: 7, lines: [1, 2, 3, 4, 5] }])
  const many = groups(Array.from({ length: 10_000 }, (_, i) => rejectedLine(`${i} ${'x'.repeat(300)}`)))
  assert.equal(many.length, 101)
  assert.ok(many.every(({ reason }) => reason.length <= 200))
  assert.deepEqual(many.at(-1), { reason: '', count: 9_900, lines: [101, 102, 103, 104, 105] })
})

test('a line nested too deep is rejected before it is parsed', () => {
  const nested = (levels: number) => `{"ip":"192.0.2.1","x":${'['.repeat(levels)}${']'.repeat(levels)}}`
  const lines = [nested(127), nested(128), nested(400_000), `{"ip":"192.0.2.1","x":${'['.repeat(400_000)}`]
  const { counts } = readWhole({ firstLine: 1, gaps: [], bytes: Buffer.from(lines.join('\n')) }, context)
  const detail = 'is nested more than 128 levels deep'
  assert.equal(counts.fed, 1)
  assert.deepEqual(counts.reasons, [{ reason: detail, count: 3, lines: [2, 3, 4] }])
  assert.deepEqual(
    counts.errors,
    [2, 3, 4].map((line) => ({ line, detail })),
  )
})

test('lines of a source name it in rows, blocks, counts and payloads, and may have no address', () => {
  const ofSource = { ...context, partitions: 1, sourceId: 'src_0123abc' }
  const text =
    '{"ip":"192.0.2.1","event_id":"a"}\n{"event_id":"b"}\n{"ip":"nowhere"}\n{"ip":5}\nx\n' +
    `${NO_PAGE_LINE}\n`.repeat(2)
  const read = (more: Partial<ChunkContext>) =>
    readWhole({ firstLine: 1, gaps: [], bytes: Buffer.from(text) }, { ...ofSource, ...more })
  const { blocks, outcomes, counts } = read({})
  assert.equal(blocks.get(0)!.sourceId, 'src_0123abc')
  const key = (status: string) => `acme\t2026-11-21\t${context.job}\t${status}\tsrc_0123abc`
  assert.deepEqual(Object.fromEntries(outcomes), {
    [key('no_ip\t\t')]: 1,
    [key('no_page\t\t')]: 2,
    [key('invalid_ip\t\t')]: 1,
    [key('rejected\tschema\t')]: 1,
    [key('rejected\tnot JSON\t')]: 1,
  })
  assert.deepEqual([counts.fed, counts.rejected, counts.invalidIp, counts.noPage], [1, 3, 1, 2])
  // A feeder of an earlier version reads this form, and names the reason.
  assert.equal(NO_PAGE_LINE, rejectedLine('is no page view'))
  assert.deepEqual(counts.reasons[0], { reason: 'has no address', count: 1, lines: [2] })
  const [judged] = eventsOf(read({ isJudged: true }).blocks)
  assert.match(judged!.row, new RegExp(`\t${context.job}\t\tsrc_0123abc$`))
  const [stored, , ...rejected] = eventsOf(read({ archived: true }).payloads).map(({ row }) => row)
  assert.match(stored!, /"_status":"ok","_source_id":"src_0123abc","ip":"192.0.2.1"/)
  assert.deepEqual(
    rejected.map((row) => row.split('\t').slice(2)),
    [
      ['!schema', '1', 'src_0123abc'],
      ['!not JSON', '1', 'src_0123abc'],
      ['!', '1', 'src_0123abc', 'no_ip'],
      ['!', '2', 'src_0123abc', 'no_page'],
    ],
  )
  const [unnamed] = readWhole({ firstLine: 1, gaps: [], bytes: Buffer.from(text) }, context).counts.reasons
  assert.equal(unnamed!.reason, 'ip is required', 'an upload with an API key must have addresses')
})
