import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { RefusedRowsError } from '../../src/pipeline/declaration/destination.ts'
import { absentRows, TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { eventRows } from '../support/event-rows.ts'

test('rows lost in a crash whose token was kept can be inserted again; bad rows are refused', async (t) => {
  const crashed = await startTestClickHouse(t)
  const sink = new TableInserter(EVENTS, crashed.client, async () => {})
  const kept = eventRows([{ event_id: "kept 'n\t1" }, { event_id: 'kept 2' }, { event_id: 'kept 3' }])
  const lost = eventRows([{ event_id: 'lost\\1' }, { event_id: 'lost 2', received_at: 5 }, { event_id: 'lost 3' }])
  await sink.insert([kept], 'kept')
  await sink.insert([lost], 'lost')
  const parts = await crashed.rows<{ path: string }>(
    "SELECT path FROM system.parts WHERE table = 'events' AND active AND rows != 3",
  )
  await crashed.kill()
  // The state after a crash between the write to the deduplication log and the rename of the part.
  for (const { path } of parts) await rm(path, { recursive: true })
  assert.equal((await readdir(join(parts[0]!.path, '..'))).includes('deduplication_logs'), true)
  await crashed.restart()

  await sink.insert([kept], 'kept')
  await sink.insert([lost], 'lost')
  const absent = await absentRows(crashed.client, [kept, lost])
  assert.deepEqual(Buffer.concat(absent), lost)
  await sink.insert(absent, 'lost.again')
  assert.deepEqual(await absentRows(crashed.client, [kept, lost]), [])
  assert.deepEqual(await crashed.rows('SELECT count() AS n FROM events'), [{ n: 6 }])

  const broken = [Buffer.from('192.0.2.1\tacme\te\tno time\n')]
  await assert.rejects(sink.insert(broken, 'broken'), RefusedRowsError)
  await crashed.client.command({ query: 'DROP TABLE events' })
  await assert.rejects(sink.insert([kept], 'away'), (error) => !(error instanceof RefusedRowsError))
})
