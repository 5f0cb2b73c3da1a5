import type { Logger } from 'pino'
import { CRM_LIMITS, type CrmRefusal, type CrmRun } from '../../schemas/crm.ts'
import type { BroughtFact, CompanyCorrections } from '../companies/corrections/corrections.ts'
import { retryDelayMs } from '../exports/schedule.ts'
import { DAY_MS } from '../pipeline/event/outcomes.ts'
import { HUBSPOT } from '../run/authors.ts'
import type { Clock } from '../run/clock.ts'
import { cutText } from '../run/cut-text.ts'
import { LeaseLostError } from '../run/errors.ts'
import { LeasedService } from '../run/leased-service.ts'
import type { DelayBounds } from '../run/loop.ts'
import { PASSING } from '../run/passing.ts'
import { timeLimit } from '../run/time-limit.ts'
import { SecretError } from '../secrets/secret-box.ts'
import type { ShareLease } from '../stores/redis/membership.ts'
import type { Tenant } from '../tenants/tenancy.ts'
import { type Crm, CrmBusyError, CrmStoppedError } from './crm.ts'
import type { OutgoingCompanies } from './outgoing.ts'
import type { Connection, CrmState, RedisCrm } from './redis/crm-store.ts'

interface CrmSyncerOptions {
  readonly lease: ShareLease
  readonly crm: Pick<RedisCrm, 'all' | 'get' | 'state' | 'asked' | 'remove' | 'settle'>
  readonly outgoing: Pick<OutgoingCompanies, 'of' | 'withPages'>
  readonly corrections: Pick<CompanyCorrections, 'bring'>
  /** @throws SecretError */
  readonly open: (connection: Connection) => Crm
  readonly getTenant: (id: string) => Promise<Tenant | undefined>
  readonly clock: Clock
  readonly log: Logger
  readonly onRun?: (run: CrmRun) => void
}

const LOOK_EVERY_MS = 1_000
const LOOP_DELAY: DelayBounds = { minMs: 250, maxMs: 5_000 }
const EVERY_MS = 3_600_000
/** After HubSpot asked to wait. */
const BUSY_MIN_MS = 60_000
/** One run. */
const RUN_MS = 7_200_000
/** Tenants at a time. */
const RUNS_AT_ONCE = 4
const ERROR_CHARS = 500

type Counts = Omit<CrmRun, 'at' | 'took_ms' | 'error'>
interface Progress {
  readonly counts: { -readonly [name in keyof Counts]: number }
  /** At most `CRM_LIMITS.refused`. */
  readonly refused: CrmRefusal[]
  readonly brought: BroughtFact[]
}

/**
 * Brings the companies of each connected tenant into its CRM, and owners and statuses back, every hour. One process at a time does this,
 * under a lease. A run keeps no list of what it sent: it compares with what the CRM has, so a run after a crash does what is left.
 */
export class CrmSyncer extends LeasedService {
  readonly #options: CrmSyncerOptions
  readonly #runs = new Map<string, Promise<void>>()
  /** When runs are due, by id of connection: only the process that holds the lease changes that. */
  readonly #plans = new Map<string, Pick<CrmState, 'nextAtMs' | 'askedMs'>>()
  #ending = new AbortController()

  constructor(options: CrmSyncerOptions) {
    super({ ...options, name: 'crm', delay: LOOP_DELAY, problem: 'no CRM is brought up to date at the moment' })
    this.#options = options
  }

  /** Begins the runs that are due, those that wait longest first. They outlive a round, so that no tenant waits for the end of another's. */
  protected override async round(): Promise<number> {
    if (this.#runs.size >= RUNS_AT_ONCE) return LOOK_EVERY_MS
    for (const { connection, askedMs } of await this.#due()) {
      if (this.signal.aborted || this.#runs.size >= RUNS_AT_ONCE) break
      const { tenantId } = connection
      this.#plans.delete(connection.id)
      const run = this.#run(connection, askedMs).catch((err: Error) => this.#report(connection, err))
      this.#runs.set(
        tenantId,
        run.finally(() => this.#runs.delete(tenantId)),
      )
    }
    return LOOK_EVERY_MS
  }

  /** Removes connections of removed tenants too. */
  async #due() {
    const { crm, clock } = this.#options
    const found: { connection: Connection; askedMs: number; sinceMs: number }[] = []
    for (const connection of await crm.all()) {
      const { tenantId, id, stopped } = connection
      if (this.signal.aborted) break
      if (this.#runs.has(tenantId)) continue
      if (await this.#isGone(tenantId)) {
        await crm.remove(tenantId)
        continue
      }
      const [plan, askedMs] = await Promise.all([this.#plans.get(id) ?? crm.state(tenantId), crm.asked(tenantId)])
      // Not the state itself, which lists companies.
      this.#plans.set(id, { nextAtMs: plan.nextAtMs, askedMs: plan.askedMs })
      // No run is planned further ahead: the clock was.
      const plannedMs = plan.nextAtMs - clock.now() > DAY_MS ? 0 : plan.nextAtMs
      const isDue = stopped === undefined && plannedMs <= clock.now()
      if (isDue) found.push({ connection, askedMs, sinceMs: plannedMs })
      else if (askedMs > plan.askedMs) found.push({ connection, askedMs, sinceMs: askedMs })
    }
    return found.sort((a, b) => a.sinceMs - b.sinceMs)
  }

  protected override async settle(): Promise<void> {
    this.#ending.abort(new Error('the CRM is brought up to date by another process'))
    await Promise.allSettled([...this.#runs.values()])
    this.#plans.clear()
    this.#ending = new AbortController()
  }

  async #isGone(tenantId: string): Promise<boolean> {
    const tenant = await this.#options.getTenant(tenantId)
    return tenant === undefined || tenant.deleting === true
  }

  async #run(connection: Connection, askedMs: number): Promise<void> {
    const { lease, crm, clock, onRun } = this.#options
    const ending = this.#ending.signal
    const before = await crm.state(connection.tenantId)
    const beganMs = clock.now()
    const running = { ...before, runningSinceMs: beganMs }
    if (!(await crm.settle(lease, connection, running, connection.stopped))) return
    const progress: Progress = {
      counts: { created: 0, updated: 0, unchanged: 0, refused: 0, brought: 0, left_out: 0 },
      refused: [],
      brought: [],
    }
    let failure: Error | undefined
    try {
      await this.#sync(connection, progress, timeLimit(RUN_MS, ending))
    } catch (error) {
      if (ending.aborted || error instanceof LeaseLostError) return
      failure = error as Error
    }
    const nowMs = clock.now()
    const { counts, refused } = progress
    const error = failure === undefined ? null : cutText(failure.message, ERROR_CHARS)
    const run: CrmRun = { at: new Date(beganMs).toISOString(), took_ms: nowMs - beganMs, ...counts, error }
    const isStopped = failure instanceof CrmStoppedError
    const failures = failure === undefined || failure instanceof CrmBusyError ? 0 : before.failures + 1
    const state: CrmState = {
      ...{ nextAtMs: nowMs + waitAfter(failure, failures), askedMs, failures },
      runs: [run, ...before.runs].slice(0, CRM_LIMITS.runs),
      refused,
    }
    const stopped = isStopped ? { at: new Date(nowMs).toISOString(), reason: error! } : undefined
    const isCurrent = await crm.settle(lease, connection, state, stopped)
    onRun?.(run)
    if (failure !== undefined && isCurrent) this.#report(connection, failure)
  }

  #report({ tenantId, kind }: Connection, err: Error): void {
    const { log } = this.#options
    const facts = { tenant_id: tenantId, crm: kind, reason: err.message }
    if (err instanceof CrmStoppedError) log.warn(facts, 'a CRM waits for a person')
    else log.warn({ ...facts, ...PASSING }, 'a CRM is brought up to date again later')
  }

  async #sync(connection: Connection, progress: Progress, signal: AbortSignal): Promise<void> {
    const { outgoing, corrections, open } = this.#options
    const { tenantId } = connection
    const { counts, refused, brought } = progress
    const crm = this.#opened(open, connection)
    await crm.begin(signal)
    const { companies, unfit, leftOut } = await outgoing.of(tenantId, connection.segment_id, signal)
    counts.left_out = leftOut
    counts.refused = unfit.count
    refused.push(...unfit.first)
    const sent = new Set(companies.map(({ company_id }) => company_id))
    for (let i = 0; i < companies.length; i += crm.companiesMax) {
      await this.#assertCurrent(connection)
      const part = await outgoing.withPages(tenantId, companies.slice(i, i + crm.companiesMax))
      const done = await crm.sync(part, (id) => sent.has(id), signal)
      counts.created += done.created
      counts.updated += done.updated
      counts.unchanged += done.unchanged
      counts.refused += done.refused.length
      refused.push(...done.refused.slice(0, CRM_LIMITS.refused - refused.length))
      brought.push(...done.brought)
    }
    signal.throwIfAborted()
    await this.#assertCurrent(connection)
    counts.brought = await corrections.bring(tenantId, HUBSPOT, brought)
  }

  /** @throws Error when the connection was ended or replaced, or its tenant removed: nothing more is sent or read */
  async #assertCurrent({ tenantId, id }: Connection): Promise<void> {
    const { lease, crm } = this.#options
    lease.assertHeld()
    const current = await crm.get(tenantId)
    if (current?.id !== id || (await this.#isGone(tenantId))) throw new Error('the connection was ended or replaced')
  }

  #opened(open: CrmSyncerOptions['open'], connection: Connection): Crm {
    try {
      return open(connection)
    } catch (error) {
      if (!(error instanceof SecretError)) throw error
      throw new CrmStoppedError(`the token of ${HUBSPOT} ${error.message.split(':')[0]}: connect again`)
    }
  }
}

/** Milliseconds until the next run. A run reads all companies, so it does not begin each second. */
function waitAfter(failure: Error | undefined, failures: number): number {
  if (failure === undefined) return EVERY_MS
  return failure instanceof CrmBusyError ? Math.max(failure.waitMs, BUSY_MIN_MS) : retryDelayMs(failures)
}
