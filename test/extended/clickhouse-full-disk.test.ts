import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { ClickHouseError } from '@clickhouse/client'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { SmallDisk } from '../chaos/run/small-disk.ts'
import { startTestClickHouse, type TestClickHouse } from '../support/clickhouse.ts'
import { eventRows } from '../support/event-rows.ts'
import { until } from '../support/until.ts'

/*
 * When a write fails, chdb continues as if it had succeeded. Answered rows must be whole all the same, and
 * older rows must stay readable.
 */

const ROWS = 5_000
const ROUNDS_MAX = 12

/** Kept free on the disk of these tests. */
const KEPT_MIB = 64
const DISK_MIB = 256

test('a full disk loses no row', async (t) => {
  const disk = await SmallDisk.mount(t, DISK_MIB)
  const clickhouse = await startTestClickHouse(t, { external: true, ...(disk && { under: disk.path }) })

  await t.test('a failed write is not answered: the engine ends, and the next one serves', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('this system has no file that is always full')
    const write = (file: string) =>
      clickhouse.client.command({ query: `INSERT INTO FUNCTION file('${file}', 'TSV', 'n UInt64') SELECT 1` })
    await assert.rejects(write('/dev/full'), 'as if the disk had been full')
    await clickhouse.ended()
    await clickhouse.restart()
    await write('/dev/null')
  })

  await t.test('a disk that fills up during a merge loses no stored row', async (t) => {
    if (disk === undefined) return t.skip('this process may mount no disk that could be filled')
    await fillWhileMerging(t, clickhouse, disk)
  })
})

async function fillWhileMerging(t: TestContext, clickhouse: TestClickHouse, disk: SmallDisk): Promise<void> {
  const events = new Events(clickhouse)
  await clickhouse.client.command({ query: 'SYSTEM STOP MERGES' })
  for (let i = 0; i < 4; i++) await events.insert()

  // It begins neither an insert nor a merge when little space is left.
  await disk.fill(KEPT_MIB / 2)
  await assert.rejects(events.insert(), /NOT_ENOUGH_SPACE|not enough space/)
  await clickhouse.client.command({ query: 'CREATE TABLE small (n UInt8) ENGINE = Memory' })
  await disk.fill()
  await assert.rejects(
    clickhouse.client.command({ query: 'CREATE TABLE none (n UInt8) ENGINE = Memory' }),
    /bytes are free/,
  )
  await clickhouse.client.command({ query: 'DROP TABLE small' })
  await disk.empty()
  await events.insert()
  await clickhouse.client.command({ query: 'SYSTEM START MERGES' })

  let ends = 0
  const served = async <T>(work: (isRepeat: boolean) => Promise<T>): Promise<T> => {
    for (let isRepeat = false; ; isRepeat = true) {
      try {
        return await work(isRepeat)
      } catch (error) {
        if (error instanceof ClickHouseError) throw error
        await clickhouse.ended()
        await clickhouse.restart()
        ends++
      }
    }
  }
  for (let round = 0; round < ROUNDS_MAX && ends === 0; round++) {
    // Space for a merge, and little to fill while it runs.
    await disk.fill(KEPT_MIB + 64)
    let isOver = false
    const merge = clickhouse.client
      .command({ query: 'OPTIMIZE TABLE events FINAL' })
      .catch(() => {})
      .finally(() => {
        isOver = true
      })
    await until(async () => isOver || (await clickhouse.rows('SELECT 1 FROM system.merges')).length > 0)
    await disk.fill()
    await merge
    await disk.empty()
    await served((isRepeat) => events.insert(isRepeat))
    assert.deepEqual(await served(() => events.counts()), { n: events.stored, ids: events.stored }, `round ${round}`)
  }
  t.diagnostic(ends > 0 ? 'a merge was hit' : 'no merge was hit: each was over before the disk was full')
}

class Events {
  stored = 0
  readonly #clickhouse: TestClickHouse
  readonly #inserter: TableInserter
  #token = 0

  constructor(clickhouse: TestClickHouse) {
    this.#clickhouse = clickhouse
    this.#inserter = new TableInserter(EVENTS, clickhouse.client, async () => {})
  }

  /** As a sink inserts. */
  async insert(isRepeat = false): Promise<void> {
    const rows = eventRows(
      Array.from({ length: ROWS }, (_, i) => ({
        event_id: `e${this.stored + i}`,
        properties: noise(`${this.stored + i}`),
      })),
    )
    if (!isRepeat) this.#token++
    await this.#inserter.insert([rows], `token-${this.#token}`)
    const absent = isRepeat ? await this.#inserter.absent([rows]) : []
    if (absent.length > 0) await this.#inserter.insert(absent, `token-${this.#token}.absent`)
    this.stored += ROWS
  }

  /** Reads every column. */
  async counts(): Promise<unknown> {
    const read = 'SELECT count() AS n, uniqExact(event_id) AS ids, max(cityHash64(*)) AS _ FROM events'
    const [counts] = await this.#clickhouse.rows(`SELECT n, ids FROM (${read}) WHERE NOT ignore(_)`)
    return counts
  }
}

/** Data that compression does not shrink, and the same on each call. */
function noise(seed: string): string {
  return createHash('shake256', { outputLength: 400 }).update(seed).digest('base64')
}
