import assert from 'node:assert/strict'
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Checkpoint, headOf, type LogRecord, tailOf } from '../../../src/pipeline/sources/sync/checkpoint.ts'
import { LogFile } from '../../../src/pipeline/sources/sync/log-file.ts'
import { LogSync } from '../../../src/pipeline/sources/sync/log-sync.ts'
import { WatchedPath } from '../../../src/pipeline/sources/sync/watched-path.ts'
import { atEnd } from '../../support/at-end.ts'

const LINE = '203.0.113.7 - - [26/Nov/2026:12:00:00 +0000] "GET /health HTTP/1.1" 200 5 "-" "agent"\n'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'ipid-checkpoint-'))
  atEnd(t, () => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Counts the bytes written to the file. */
function checkpointIn(dir: string, recordsMax?: number) {
  const path = join(dir, 'checkpoint.json')
  const written = { replaced: 0, appended: 0 }
  const load = () =>
    Checkpoint.load(
      path,
      {
        replace(content) {
          written.replaced++
          writeFileSync(path, content)
        },
        append(content) {
          written.appended += content.length
          appendFileSync(path, content)
        },
      },
      recordsMax,
    )
  return { path, written, load }
}

async function recordOf(checkpoint: Checkpoint, path: string, nowMs: number): Promise<LogRecord> {
  const log = await LogFile.open(path)
  try {
    return await checkpoint.recordOf(log, (await headOf(log, true))!, () => 'combined', nowMs)
  } finally {
    await log.close()
  }
}

/** Notes that the lines so far were sent. */
function sent(checkpoint: Checkpoint, record: LogRecord): void {
  const content = readFileSync(record.path)
  const start = content.lastIndexOf('\n', content.length - 2) + 1
  const last = content.subarray(start, content.length - 1)
  Object.assign(record, { offset: content.length, lines: 1, ...tailOf(last, start) })
  checkpoint.save(record)
}

test('a log that exists keeps its record, even among many', async (t) => {
  const dir = folder(t)
  const { load, written } = checkpointIn(dir, 2)
  const paths = Array.from({ length: 6 }, (_, i) => join(dir, `${i}.log`))
  const checkpoint = load()
  for (const [i, path] of paths.entries()) {
    writeFileSync(path, LINE.replace('health', String(i)))
    sent(checkpoint, await recordOf(checkpoint, path, i))
  }
  assert.equal(written.replaced, 1, 'a further record is appended')
  const ids = checkpoint.records.map(({ id }) => id)
  assert.deepEqual(
    load().records.map(({ id, offset }) => [id, offset > 0]),
    ids.map((id) => [id, true]),
  )
  for (const path of paths.slice(0, 5)) unlinkSync(path)
  assert.deepEqual(
    load().records.map(({ path }) => path),
    paths.slice(4),
    'logs that are gone are dropped, the oldest first',
  )
})

test('a crash in the middle of an append costs nothing that was saved', async (t) => {
  const dir = folder(t)
  const { path, load } = checkpointIn(dir)
  const log = join(dir, 'access.log')
  writeFileSync(log, LINE)
  const first = load()
  const { id } = await recordOf(first, log, 0)
  sent(first, first.records[0]!)
  appendFileSync(path, '{"id":"0123')
  const second = load()
  assert.deepEqual(second.records, first.records)
  const another = join(dir, 'another.log')
  writeFileSync(another, LINE.replace('health', 'other'))
  await recordOf(second, another, 0)
  assert.deepEqual(
    load().records.map((record) => record.id),
    [id, second.records[1]!.id],
  )
})

test('logs of two servers with the same beginning have records of their own', async (t) => {
  const dir = folder(t)
  const checkpoint = checkpointIn(dir).load()
  const [one, two] = [join(dir, 'web1.log'), join(dir, 'web2.log')]
  writeFileSync(one, LINE)
  writeFileSync(two, LINE)
  const first = await recordOf(checkpoint, one, 0)
  assert.notEqual((await recordOf(checkpoint, two, 0)).id, first.id, 'nothing was sent yet')
  sent(checkpoint, first)
  assert.equal((await recordOf(checkpoint, one, 0)).id, first.id)
  const [third, fourth] = [join(dir, 'web-1'), join(dir, 'web-2')]
  for (const path of [third, fourth]) writeFileSync(path, LINE + LINE)
  const record = await recordOf(checkpoint, third, 0)
  sent(checkpoint, record)
  assert.notEqual((await recordOf(checkpoint, fourth, 0)).id, record.id, 'the lines so far are the same')
})

test('a copy that rotation made has the record of its log', async (t) => {
  for (const name of ['access.log.1', 'access.log-20261126', 'access.log-2026-11-26']) {
    const dir = folder(t)
    const log = join(dir, 'access.log')
    const checkpoint = checkpointIn(dir).load()
    writeFileSync(log, LINE)
    const record = await recordOf(checkpoint, log, 0)
    sent(checkpoint, record)
    const copy = join(dir, name)
    copyFileSync(log, copy)
    assert.equal((await recordOf(checkpoint, copy, 0)).id, record.id, name)
  }
})

test('a rotated log that was compressed under the next number keeps its record', async (t) => {
  const dir = folder(t)
  const checkpoint = checkpointIn(dir).load()
  const log = join(dir, 'access.log.1')
  writeFileSync(log, LINE + LINE)
  const record = await recordOf(checkpoint, log, 0)
  sent(checkpoint, record)
  const packed = join(dir, 'access.log.2.gz')
  writeFileSync(packed, gzipSync(LINE + LINE))
  unlinkSync(log)
  assert.equal((await recordOf(checkpoint, packed, 0)).id, record.id)
})

const PAGE = LINE.replace('/health', '/')

/** Runs `ipid sync` on files. Returns how many events were sent, and how many gzip files were unpacked beyond their first line. */
async function runSync(t: TestContext, checkpoint: Checkpoint, ...paths: readonly string[]) {
  const { read } = LogFile.prototype
  let unpacked = 0
  let events = 0
  const reading = t.mock.method(LogFile.prototype, 'read', function (this: LogFile, ...args: Parameters<typeof read>) {
    if (this.gzip && args[0] > 0) unpacked++
    return read.apply(this, args)
  })
  const send = async (lines: readonly string[]) => {
    events += lines.length
    return { rejected: 0, filtered: {}, invalidIp: 0, noIp: 0 }
  }
  const judged = async () => undefined
  const stop = new AbortController().signal
  const sync = new LogSync({ ...{ format: undefined, mapping: undefined, all: true, send, judged, checkpoint, stop } })
  for (const path of paths) {
    const warn = (text: string) => assert.fail(text)
    const watched = new WatchedPath(path, sync, checkpoint, { follow: false, onRead() {}, warn, quietMs: 0 })
    await watched.round()
    await watched.close()
  }
  await sync.settle()
  reading.mock.restore()
  return { events, unpacked }
}

test('a gzip copy of a log that was read is unpacked once, also beside the log, until it changes', async (t) => {
  const dir = folder(t)
  const { load } = checkpointIn(dir)
  const [log, packed] = [join(dir, 'access.log.1'), join(dir, 'access.log.1.gz')]
  writeFileSync(log, PAGE + PAGE)
  assert.deepEqual(await runSync(t, load(), log), { events: 2, unpacked: 0 })
  writeFileSync(packed, gzipSync(PAGE + PAGE))
  assert.equal((await runSync(t, load(), log, packed)).events, 0)
  assert.deepEqual(await runSync(t, load(), log, packed), { events: 0, unpacked: 0 }, 'both files')
  unlinkSync(log)
  assert.deepEqual(await runSync(t, load(), packed), { events: 0, unpacked: 0 }, 'the log is gone')
  renameSync(packed, join(dir, 'access.log.2.gz'))
  const moved = join(dir, 'access.log.2.gz')
  assert.deepEqual(await runSync(t, load(), moved), { events: 0, unpacked: 0 }, 'another name')
  utimesSync(moved, new Date(), new Date(Date.now() - 60_000))
  const touched = await runSync(t, load(), moved)
  assert.deepEqual([touched.events, touched.unpacked > 0], [0, true], 'another time')
  assert.deepEqual(await runSync(t, load(), moved), { events: 0, unpacked: 0 })
  writeFileSync(moved, gzipSync(PAGE + PAGE + PAGE))
  assert.equal((await runSync(t, load(), moved)).events, 1, 'a further line')
})
