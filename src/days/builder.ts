import { ClickHouseError } from '@clickhouse/client'
import type { Logger } from 'pino'
import type { Clock } from '../run/clock.ts'
import { type Lease, LeasedService } from '../run/leased-service.ts'
import { type DelayBounds, pause } from '../run/loop.ts'
import { PASSING } from '../run/passing.ts'
import { DAY_TABLES } from '../stores/clickhouse/tables.ts'
import type { Build, DayTable, DayTables, StaleDay, TenantZones } from './day-tables.ts'
import type { DaysNote, DaysRecords } from './ports.ts'

/** Times of the builder, milliseconds. */
export interface BuilderTimes {
  /** Pause between two looks for stale days. */
  readonly lookEveryMs: number
  /** A day whose events have not changed for this time is built. */
  readonly quietMs: number
  /** A day whose events keep changing is built when it has been stale for this time, and no day more often. */
  readonly restlessMs: number
  /** A replaced build stays for this time, for queries that chose it. It is longer than any query. */
  readonly keepMs: number
  /** Between two removals of replaced builds, while they are few. */
  readonly cleanEveryMs: number
  /** Looks take at most this share of the time. */
  readonly lookShare: number
}

export const BUILDER_TIMES: BuilderTimes = {
  lookEveryMs: 10_000,
  quietMs: 60_000,
  restlessMs: 300_000,
  keepMs: 900_000,
  cleanEveryMs: 3_600_000,
  lookShare: 0.01,
}

export interface BuilderOptions {
  readonly lease: Lease
  readonly tables: Pick<
    DayTables,
    'openMutations' | 'materialize' | 'stale' | 'build' | 'replaced' | 'condemn' | 'remove' | 'isRemoving'
  >
  readonly records: DaysRecords
  /** Default: all tenants are in UTC. */
  readonly zones?: () => Promise<TenantZones>
  readonly clock: Clock
  readonly log: Logger
  /** Default: `BUILDER_TIMES`. */
  readonly times?: Partial<BuilderTimes>
  readonly onBuilt?: (tables: number) => void
}

/** A failure lasts: ClickHouse is down, or its tables are not made yet. */
const DELAY: DelayBounds = { minMs: 5_000, maxMs: 300_000 }
/** Errors while a sink of this or another process migrates the schema, which it reports itself when it fails. */
const NOT_MIGRATED: ReadonlySet<string | undefined> = new Set([
  ...['UNKNOWN_DATABASE', 'UNKNOWN_TABLE', 'UNKNOWN_IDENTIFIER'],
])
/** A day that cannot be built is tried again after this time, and after twice as long each time. */
const FAILED_DAY: DelayBounds = { minMs: 300_000, maxMs: 3_600_000 }
/** Above this share of the rows, replaced builds slow down reading. */
const CLEAN_SHARE = 0.2
/** After this time, look again: newer days go first. */
const BUILDING_MS = 10_000

/** The known facts about a stale day. */
interface Watched {
  readonly sinceMs: number
  readonly state: string
  readonly changedMs: number
  /** Whether it was built in this state, or while it changed. */
  readonly isBuilt: boolean
  /** When this process last built it; 0: never. */
  readonly builtMs: number
  readonly failures: number
  readonly retryMs: number
}

/**
 * Builds the days whose stored numbers do not prove themselves, newest first, one at a time, and removes builds that newer ones have
 * replaced. Two of these at once are safe: each build has its own rows, and a sum of two builds proves nothing.
 *
 * After a build it rests as long as the build took, so that it uses half a core at most.
 */
export class DaysBuilder extends LeasedService {
  readonly #options: BuilderOptions
  readonly #times: BuilderTimes
  #watched = new Map<string, Watched>()
  /** Builds that no query can choose since then. */
  readonly #condemned = new Map<DayTable, { readonly builds: readonly Build[]; readonly sinceMs: number }>()
  readonly #cleanedMs = new Map<DayTable, number>()
  #lookedForReplacedMs = 0
  #isBlocked = false

  constructor(options: BuilderOptions) {
    const problem = 'days are not built at the moment; pages read them from events, which is slower'
    super({ ...options, name: 'days', delay: DELAY, problem })
    this.#options = options
    this.#times = { ...BUILDER_TIMES, ...options.times }
  }

  protected override async takeOver(): Promise<void> {
    const note = await this.#options.records.read()
    this.#sinceBefore = note?.oldestSinceMs
    this.#watched.clear()
    this.#condemned.clear()
  }

  /** Since when the last holder saw a stale day. */
  #sinceBefore: number | undefined

  protected override async round(): Promise<number | undefined> {
    try {
      return await this.#round()
    } catch (error) {
      if (!(error instanceof ClickHouseError) || !NOT_MIGRATED.has(error.type)) throw error
      return this.#times.lookEveryMs
    }
  }

  async #round(): Promise<number | undefined> {
    const { tables, zones, clock } = this.#options
    if (await this.#isUnreadable()) {
      // Stale builds hold hashes of addresses, so their removal waits for no mutation.
      await this.#clean()
      return this.#times.lookEveryMs
    }
    const began = performance.now()
    const today = new Date(clock.now()).toISOString().slice(0, 10)
    const { newest, total } = await tables.stale(today, await zones?.())
    const tookMs = performance.now() - began
    this.#watch(newest)
    await this.#note(total)
    const isMore = await this.#buildDue(newest)
    if (isMore) return undefined
    await this.#clean()
    return Math.max(this.#times.lookEveryMs, tookMs / this.#times.lookShare)
  }

  /** Whether a check of the days would read every row. */
  async #isUnreadable(): Promise<boolean> {
    const { tables, log } = this.#options
    const mutations = await tables.openMutations()
    const failed = mutations.find(({ failure }) => failure !== '')
    if (mutations.length === 0) this.#isBlocked = false
    else if (failed !== undefined && !this.#isBlocked) {
      this.#isBlocked = true
      log.warn(
        { mutation: failed.command, reason: failed.failure },
        'a change of events in ClickHouse fails, and days are not built before it ends',
      )
    }
    const month = mutations.length === 0 ? await tables.materialize() : undefined
    if (month !== undefined) log.info({ month }, 'ClickHouse sums up the days of stored events')
    const waits = mutations.length > 0 || month !== undefined
    if (waits) await this.#note(undefined, failed?.failure ?? '')
    return waits
  }

  #watch(days: readonly StaleDay[]): void {
    const nowMs = this.#options.clock.now()
    const before = this.#watched
    this.#watched = new Map()
    for (const day of days) {
      const known = before.get(keyOf(day))
      const isSame = known?.state === day.state
      // A day that changed since its build is stale anew. One that did not is not proved by it, and stays stale.
      const isNew = known?.isBuilt === true && !isSame
      this.#watched.set(keyOf(day), {
        sinceMs: isNew ? nowMs : (known?.sinceMs ?? this.#sinceBefore ?? nowMs),
        state: day.state,
        changedMs: isSame ? known.changedMs : nowMs,
        isBuilt: !isNew && known?.isBuilt === true,
        builtMs: known?.builtMs ?? 0,
        failures: known?.failures ?? 0,
        retryMs: known?.retryMs ?? 0,
      })
    }
    this.#sinceBefore = undefined
  }

  #isDue(day: StaleDay, nowMs: number): boolean {
    const { quietMs, restlessMs } = this.#times
    const { sinceMs, changedMs, retryMs, builtMs } = this.#watched.get(keyOf(day))!
    // A build may come from a machine whose clock was ahead.
    const lastMs = Math.max(builtMs, day.builtMs <= nowMs ? day.builtMs : 0)
    if (nowMs < retryMs || nowMs - lastMs < restlessMs) return false
    return nowMs - changedMs >= quietMs || nowMs - sinceMs >= restlessMs
  }

  /** @returns whether days are left that are due */
  async #buildDue(days: readonly StaleDay[]): Promise<boolean> {
    const { clock, lease } = this.#options
    const untilMs = performance.now() + BUILDING_MS
    for (const day of days) {
      if (!this.#isDue(day, clock.now())) continue
      if (performance.now() >= untilMs) return true
      this.signal.throwIfAborted()
      lease.assertHeld()
      const began = performance.now()
      await this.#build(day)
      await pause(performance.now() - began, this.signal)
    }
    return false
  }

  async #build(day: StaleDay): Promise<void> {
    const { tables, clock, log, onBuilt } = this.#options
    try {
      await tables.build(day, Math.max(clock.now(), day.builtMs + 1), this.signal)
      this.#watched.set(keyOf(day), { ...this.#watched.get(keyOf(day))!, isBuilt: true, builtMs: clock.now() })
      onBuilt?.(day.tables.length)
    } catch (error) {
      // ClickHouse answered, so the reason may be this day alone. Other days continue.
      if (!(error instanceof ClickHouseError) || NOT_MIGRATED.has(error.type)) throw error
      const watched = this.#watched.get(keyOf(day))!
      const delayMs = Math.min(FAILED_DAY.maxMs, FAILED_DAY.minMs * 2 ** Math.min(watched.failures, 10))
      this.#watched.set(keyOf(day), { ...watched, failures: watched.failures + 1, retryMs: clock.now() + delayMs })
      log.warn(
        { err: error, tenant_id: day.tenantId, day: day.day, delay_ms: delayMs, ...PASSING },
        'a day is not built; pages read it from events',
      )
    }
  }

  /** Removes builds in two steps, so that a query can read a build that it chose. */
  async #clean(): Promise<void> {
    const { clock, tables, lease } = this.#options
    const { keepMs } = this.#times
    for (const [table, { builds, sinceMs }] of this.#condemned) {
      if (clock.now() - sinceMs < keepMs || (await tables.isRemoving(table))) continue
      lease.assertHeld()
      await tables.remove(table, builds)
      this.#condemned.delete(table)
    }
    if (clock.now() - this.#lookedForReplacedMs < keepMs) return
    this.#lookedForReplacedMs = clock.now()
    for (const table of DAY_TABLES) if (!this.#condemned.has(table)) await this.#condemnReplaced(table)
  }

  async #condemnReplaced(table: DayTable): Promise<void> {
    const { clock, tables, zones, lease } = this.#options
    if (await tables.isRemoving(table)) return
    const { builds, share } = await tables.replaced(table, await zones?.())
    const sinceMs = clock.now() - (this.#cleanedMs.get(table) ?? 0)
    if (builds.length === 0 || (share <= CLEAN_SHARE && sinceMs < this.#times.cleanEveryMs)) return
    lease.assertHeld()
    await tables.condemn(table, builds)
    this.#condemned.set(table, { builds, sinceMs: clock.now() })
    this.#cleanedMs.set(table, clock.now())
  }

  /** @param stale undefined: unknown. @param blockedBy why the awaited change of events fails; undefined: they wait for none */
  async #note(stale: number | undefined, blockedBy?: string): Promise<void> {
    const sinces = [...this.#watched.values()].map(({ sinceMs }) => sinceMs)
    const oldestSinceMs = sinces.length === 0 ? this.#sinceBefore : sinces.reduce((a, b) => Math.min(a, b))
    const note: DaysNote = { atMs: this.#options.clock.now(), stale, oldestSinceMs, blockedBy }
    await this.#options.records.note(note)
  }
}

function keyOf({ tenantId, day }: StaleDay): string {
  return `${tenantId} ${day}`
}
