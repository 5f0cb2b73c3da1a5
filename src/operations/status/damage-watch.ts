import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../run/clock.ts'
import { Loop } from '../../run/loop.ts'
import type { Service } from '../../run/service.ts'
import type { RedisDamageRecords } from './redis/damage.ts'
import type { DamagedPart } from './system-status.ts'
import { replayLine } from './words.ts'

/** A part of a table that ClickHouse could not read and has detached. */
export interface DetachedPart extends Omit<DamagedPart, 'found_at' | 'missing'> {
  /** Whether other parts have its rows: ClickHouse keeps the sources of a merge for some minutes. Unknown after that. */
  readonly isElsewhere: boolean
}

export interface DamageStore {
  /** The parts that are detached now. */
  detached(): Promise<readonly DetachedPart[]>
  close(): Promise<void>
}

interface DamageWatchOptions {
  readonly store: DamageStore
  readonly records: Pick<RedisDamageRecords, 'read' | 'add' | 'remove'>
  readonly clock: Clock
  readonly metrics: Registry
  readonly log: Logger
}

/** ClickHouse keeps the sources of a merge for 8 minutes: the first look must come well before that. */
const LOOK_EVERY_MS = 120_000
const RETRY_DELAY = { minMs: 1_000, maxMs: 30_000 }

/**
 * Notices lost parts of tables. When ClickHouse starts, it silently detaches parts that it cannot read. After that it answers
 * as if their rows had never existed.
 */
export class DamageWatch implements Service {
  readonly name = 'damage watch'
  readonly #options: DamageWatchOptions
  readonly #loop: Loop

  constructor(options: DamageWatchOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        await this.look()
        return LOOK_EVERY_MS
      },
      // Other parts of a status report an unreachable store.
      failed: () => {},
      leave: () => options.store.close(),
      delay: RETRY_DELAY,
    })
    new Gauge({
      name: 'ipid_clickhouse_damaged_parts',
      help: 'Parts of tables that ClickHouse could not read and has set aside, and whose rows are missing',
      ...{ aggregator: 'max', registers: [options.metrics] },
      async collect() {
        const parts = await options.records.read().catch(() => undefined)
        if (parts !== undefined) this.set(parts.filter(({ missing }) => missing).length)
      },
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** Looks once. */
  async look(): Promise<void> {
    const { store, records } = this.#options
    const detached = await store.detached()
    const known = await records.read()
    for (const part of known) if (!detached.some((found) => isSame(found, part))) await records.remove(part)
    for (const found of detached) if (!known.some((part) => isSame(found, part))) await this.#note(found)
  }

  async #note({ isElsewhere, ...found }: DetachedPart): Promise<void> {
    const { records, clock, log } = this.#options
    const part = { ...found, found_at: new Date(clock.now()).toISOString(), missing: !isElsewhere }
    await records.add(part)
    const { table, name, rows, from, to } = part
    const fields = { table, part: name, rows, from, to }
    if (isElsewhere) log.warn(fields, 'ClickHouse set aside a damaged part; other parts still have its rows')
    else {
      const repair = replayLine('TENANT', part)
      log.error({ ...fields, ...(repair && { repair }) }, 'ClickHouse set aside a damaged part: its rows are missing')
    }
  }
}

function isSame(a: Pick<DamagedPart, 'table' | 'name'>, b: Pick<DamagedPart, 'table' | 'name'>): boolean {
  return a.table === b.table && a.name === b.name
}
