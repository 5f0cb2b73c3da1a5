import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import {
  type ArchivedLines,
  type ArchiveReader,
  eventKey,
  type FedUnit,
  type ReplayLane,
  type StoredEvents,
  type StoredRow,
} from '../../../src/operations/replay/ports.ts'
import { type ReplayOptions, replay } from '../../../src/operations/replay/replay.ts'
import { UnavailableError } from '../../../src/run/errors.ts'

const DAY = '2026-11-22'
const RECEIVED = `${DAY}T01:00:00.000Z`

function unit(at: number, ids: readonly string[], more = ''): ArchivedLines {
  const lines = ids.map((id) => ({
    text: `{"_received_at":"${RECEIVED}","_event_id":"${id}","_status":"ok","ip":"17.253.144.10","more":"${more}"}`,
    requestId: '',
  }))
  return { partition: 0, entry: `${at}-0`, commit: `p:${at}`, day: DAY, job: undefined, lines, rejected: [] }
}

/** A pipeline that stores events once it is asked to wait for them, and not before. */
class Site {
  readonly #units: readonly ArchivedLines[]
  /** Calls that fail once, by their number. */
  readonly #failing: ReadonlySet<string>
  readonly #calls = new Map<string, number>()
  #waiting: FedUnit[] = []
  readonly rows: string[] = []
  readonly feeds: number[] = []
  readonly positions: string[] = []
  letters: (readonly string[])[] = []
  /** Runs of the parts; by default each has its own. */
  runs: readonly string[] = []

  constructor(units: readonly ArchivedLines[], failing: readonly string[] = []) {
    this.#units = units
    this.#failing = new Set(failing)
  }

  run(options: Partial<ReplayOptions> = {}) {
    return replay({
      selection: { tenantId: 't', from: DAY, to: DAY },
      ...{ where: [], dryRun: false, reenrich: false, hostnames: undefined, windowMs: 1_000 },
      ...{ reader: this.#reader, stored: this.#stored, lane: this.#lane, onStep: () => {}, onProgress: () => {} },
      mask: undefined,
      enricher: {
        enrich: () => ({
          ...{ quality: 0, data: { hostname: 'h' }, noise: false, companyId: '' },
          columns: ENRICHMENT_COLUMNS.map(() => 'h').join('\t'),
        }),
      } as unknown as ReplayOptions['enricher'],
      ...options,
    })
  }

  get #reader(): ArchiveReader {
    return {
      parts: async () =>
        this.#units.map((_, at) => ({
          key: `part-${at}`,
          job: undefined,
          run: this.runs[at] ?? `run-${at}`,
          firstMs: at + 1,
        })),
      read: async ({ firstMs }) => [this.#units[firstMs - 1]!],
    }
  }

  get #stored(): StoredEvents {
    const rowsOf = () => {
      const found = new Map<string, StoredRow[]>()
      for (const row of this.rows) found.set(row.split('\t')[2]!, [{ receivedAtMs: Date.parse(RECEIVED), jobId: '' }])
      return found
    }
    return { rowsOf: async () => rowsOf(), outcomesOf: async () => new Map(), refilteredOf: async () => new Map() }
  }

  get #lane(): ReplayLane {
    return {
      partitions: 1,
      partitionsSinceMs: 0,
      untilArchived: async () => {},
      untilStored: async () => {
        this.#mayFail('untilStored')
        for (const { envelopes } of this.#waiting) this.rows.push(...envelopes.map(({ row }) => row))
        this.#waiting = []
      },
      now: async () => Date.parse(RECEIVED) + 1_000_000,
      letters: async () => new Set(this.letters.shift() ?? []),
      release: async () => {},
      claim: async () => {},
      feed: async (units) => {
        this.feeds.push(units.reduce((sum, { envelopes }) => sum + envelopes.length, 0))
        this.#waiting.push(...units)
        this.#mayFail('feed')
      },
      position: async () => undefined,
      keepPosition: async (_, position) => {
        this.positions.push(JSON.stringify(position ?? ''))
      },
    }
  }

  #mayFail(call: string): void {
    const number = (this.#calls.get(call) ?? 0) + 1
    this.#calls.set(call, number)
    if (this.#failing.has(`${call} ${number}`)) throw new UnavailableError('down')
  }
}

test('fed events are not fed again when Redis goes down before they are known to be stored', async () => {
  for (const failing of ['feed 1', 'untilStored 2']) {
    const site = new Site([unit(1, ['a', 'b'])], [failing])
    assert.equal((await site.run()).counts.replayed, 2)
    assert.equal(site.rows.length, 2, failing)
  }
})

test('addresses that are no longer kept do not come back from the archive', async () => {
  const site = new Site([unit(1, ['a'])])
  await site.run({ mask: { keep: 'dropped', key: createSecretKey(Buffer.alloc(32)) } })
  assert.match(site.rows[0]!, /^#[0-9a-f]{16}\tt\ta\t/)
  const values = site.rows[0]!.split('\t')
  assert.equal(values.filter((value) => value === 'h').length, ENRICHMENT_COLUMNS.length - 1, 'nor does its host name')
})

test('a dead letter retried while the replay begins is left alone', async () => {
  for (const letters of [
    [['a'], []],
    [[], ['a']],
  ]) {
    const site = new Site([unit(1, ['a', 'b'])])
    site.letters = letters.map((ids) => ids.map((id) => eventKey(id, Date.parse(RECEIVED))))
    const { counts } = await site.run()
    assert.deepEqual([counts.dead, counts.replayed, site.rows.length], [1, 1, 1])
  }
})

test('a round is limited by the size of its events, too', async () => {
  const megabyte = 'x'.repeat(1_048_576)
  const site = new Site(Array.from({ length: 60 }, (_, at) => unit(at + 1, [`e${at}`], megabyte)))
  await site.run()
  assert.deepEqual(site.feeds, [48, 12])
})

test('a round does not end between two parts of one entry', async () => {
  const site = new Site([unit(1, ['a'], 'x'.repeat(50_000_000)), unit(1, ['b', 'b2']), unit(3, ['c'])])
  await site.run()
  assert.deepEqual(site.feeds, [3, 1])
})

test('an entry in two parts of one run is one entry, in two runs it is two halves', async () => {
  const copied = new Site([unit(1, ['a', 'b']), unit(1, ['a', 'b']), unit(3, ['c'])])
  copied.runs = ['hour', 'hour', 'hour']
  const { counts } = await copied.run()
  assert.deepEqual(copied.feeds, [3])
  assert.equal(counts.replayed, 3)
  const again = await copied.run()
  assert.deepEqual([again.counts.stored, again.counts.replayed], [3, 0])
  const halves = new Site([unit(1, ['a']), unit(1, ['b'])])
  await halves.run()
  assert.deepEqual(halves.feeds, [2])
})

test('progress is stored without the request', async () => {
  const site = new Site([unit(1, ['a'])])
  await site.run({ where: [{ path: ['ip'], value: '17.253.144.10' }] })
  assert.match(site.positions[0]!, /part-0/)
  assert.doesNotMatch(site.positions[0]!, /17\.253/)
})
