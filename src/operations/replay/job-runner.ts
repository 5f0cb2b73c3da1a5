import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { ReenrichmentResult } from '../../../schemas/dashboard/reenrichments.ts'
import { REENRICHMENT_LIMITS } from '../../../schemas/limits.ts'
import { isHiding, kindOf, type TenantRules } from '../../../schemas/tenant-rules.ts'
import type { FrozenData } from '../../enrichment/engine.ts'
import { tenantEnricher } from '../../enrichment/judge.ts'
import { RuleScope } from '../../enrichment/tenant-rules/rule-scope.ts'
import { unclassifiedRule } from '../../enrichment/tenant-rules/rule-set.ts'
import type { Enricher, Hostnames } from '../../pipeline/event/enrichment.ts'
import { DAY_MS, utcDay } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import { InputError, LeaseLostError, StartupError } from '../../run/errors.ts'
import { type DelayBounds, Loop, pause } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import { timeLimit } from '../../run/time-limit.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import { addressMaskOf, type Tenant } from '../../tenants/tenancy.ts'
import type { ClickHouseReenrichment } from '../reenrich/clickhouse.ts'
import { HIDDEN_ONLY, type ReenrichJob } from '../reenrich/jobs/job.ts'
import type { HeldJobs, ReenrichJobs } from '../reenrich/jobs/job-store.ts'
import { isInScope, judgeByRules, judgedBy, type RuleJudge } from '../reenrich/judge.ts'
import type { Selection, Staged } from '../reenrich/ports.ts'
import { finishReenrich, type ReenrichProgress, reenrich } from '../reenrich/reenrich.ts'
import type { ReenrichReport } from '../reenrich/report.ts'
import { retentionFloor } from '../retention/policy.ts'
import type { ArchiveReader, ReplayLane, StoredEvents } from './ports.ts'
import { replay } from './replay.ts'

/** The data by which a job judges. */
export interface JobData {
  readonly frozen: FrozenData
  readonly enricher: Enricher
  readonly hostnames: Hostnames | undefined
}

interface JobRunnerOptions {
  /** The lease `rewrite`. It is held only while a job runs, because commands need it too. */
  readonly lease: ShareLease
  readonly jobs: ReenrichJobs
  readonly events: ClickHouseReenrichment
  readonly stored: StoredEvents
  readonly archive: ArchiveReader
  openLane(assertHeld: () => void): Promise<ReplayLane>
  withData<T>(use: (data: JobData) => Promise<T>): Promise<T>
  readonly getTenant: (id: string) => Promise<Tenant | undefined>
  /** Days that events are kept when the tenant has no number of its own; undefined: forever. */
  readonly retentionDays: number | undefined
  readonly windowMs: number
  /** Resolves when the changes of Redis are on disk. */
  readonly persisted: () => Promise<void>
  readonly clock: Clock
  readonly log: Logger
  /** Pause after each piece of work, as a multiple of its duration. Default: 2. */
  readonly pauseFactor?: number
  /** How long processes may still judge by rules from before, milliseconds. Default: 3,000. */
  readonly settleMs?: number
  /** How often to look for hidden events whose rule was removed, milliseconds. Default: 30,000. */
  readonly reconcileMs?: number
}

const LOOK_EVERY_MS = 2_000
const DELAY: DelayBounds = { minMs: 1_000, maxMs: 30_000 }
/** A command may hold the lease for hours; then the job waits for the next round. */
const LEASE_WAIT_MS = 5_000
/** Processes know changed rules within seconds. Then the job waits until the events that they judged before are stored. */
const RULES_SETTLE_MS = 3_000
const WRITE_EVERY_MS = 1_000
const RECONCILE_EVERY_MS = 30_000
/** Leaves most of a core to live events. */
const PAUSE_FACTOR = 2
const PAUSE_MAX_MS = 5_000
/** With the longest delay, three quarters of an hour. */
const FAILURES_MAX = 100
/** A statement of ClickHouse may take longer. It is safe to leave it, as after a kill. */
const STOP_MS = 2_000
/** A round of the archive is judged in one piece, during which the process does nothing else. */
const ROUND_EVENTS = 2_000
/** Parts of the progress. Judging reads most. */
const JUDGED_SHARE = 0.7
const REPLACED_SHARE = 0.95
/** Long before the first event. */
const FIRST_DAY = '2000-01-01'

/** The maker of a job that no person requested. */
const RULE_REMOVED = 'removal of the rule'

/** A cluster that does not answer may have a copy. With wrong settings, no run has begun. */
async function isStagedIn(events: ClickHouseReenrichment): Promise<boolean> {
  return await events.staged().then(
    (staged) => staged !== undefined,
    (error) => !(error instanceof StartupError),
  )
}

/** A person cancelled the job, or its tenant was removed. */
class JobCancelledError extends Error {
  override name = 'JobCancelledError'
}

/**
 * Runs jobs that apply rules to stored events, one at a time, by the reenrichment of `./ipid replay --reenrich`. The lease, the copy of the
 * changed events and its RENAME make it safe; a job only adds a record. The record has the id of the copy, and the result before the first
 * event changes. So the process that continues a job knows whether to finish a copy, and what it changes.
 */
export class ReenrichJobRunner implements Service {
  readonly name = 'reenrichment jobs'
  readonly #options: JobRunnerOptions
  readonly #held: HeldJobs
  readonly #loop: Loop
  /** Not at the start: the sink may still have to make the tables. */
  #reconciledMs = performance.now()

  constructor(options: JobRunnerOptions) {
    this.#options = options
    this.#held = options.jobs.under(options.lease)
    this.#loop = new Loop({
      name: this.name,
      round: (signal) => this.#round(signal),
      leave: () => options.lease.release(),
      failed: (err, delayMs) =>
        options.log.warn(
          { err, delay_ms: Math.round(delayMs), ...PASSING },
          'a job that applies rules to stored events is tried again; no event is lost',
        ),
      delay: DELAY,
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  async stop(): Promise<void> {
    await Promise.race([this.#loop.stop(), pause(STOP_MS)])
    await this.#options.events.close()
  }

  async #round(signal: AbortSignal): Promise<number> {
    const { jobs, lease, clock, reconcileMs = RECONCILE_EVERY_MS } = this.#options
    if ((await jobs.open(1)).total === 0) {
      if (performance.now() - this.#reconciledMs >= reconcileMs) await this.#reconcile()
      return Math.min(LOOK_EVERY_MS, reconcileMs)
    }
    if (!(await lease.acquire(timeLimit(LEASE_WAIT_MS, signal)))) return LOOK_EVERY_MS
    try {
      const job = await this.#held.next((waiting) => ({
        ...waiting,
        ...{ state: 'running', startedAtMs: clock.now(), run: randomUUID(), step: 'settling' },
      }))
      if (job === undefined) return LOOK_EVERY_MS
      await this.#work(job, signal)
      return 0
    } finally {
      await lease.release()
    }
  }

  /** Requests jobs for hidden events whose rule was removed without one: by a command, a restore, or a process that was killed. */
  async #reconcile(): Promise<void> {
    const { events, jobs, getTenant, clock } = this.#options
    this.#reconciledMs = performance.now()
    for (const [tenantId, hiding] of await events.hidingRules()) {
      const tenant = await getTenant(tenantId)
      if (tenant === undefined || tenant.deleting) continue
      const { rules = [], unclassified = 'account' } = tenant
      const known = new Set([...rules, unclassifiedRule(unclassified)])
      const removed = hiding.filter((rule) => !known.has(rule))
      if (removed.length === 0) continue
      await jobs.request(tenantId, {
        ...{ rules: removed.slice(0, REENRICHMENT_LIMITS.rules), unclassified: false, days: HIDDEN_ONLY },
        ...{ requestedBy: RULE_REMOVED, requestedAtMs: clock.now() },
      })
    }
  }

  async #work(job: ReenrichJob, signal: AbortSignal): Promise<void> {
    const { clock, log, events } = this.#options
    const facts = { tenant: job.tenantId, job: job.jobId }
    const turn = new Turn(job, this.#held, this.#options, signal)
    try {
      await this.#run(turn)
      await this.#held.end({ ...turn.job, state: 'done', share: 1, endedAtMs: clock.now() })
      log.info({ ...facts, ...turn.job.result }, 'rules are applied to stored events')
    } catch (error) {
      if (error instanceof StoppedError) return
      if (error instanceof LeaseLostError) throw error
      // From now on the events of the copy must replace the stored ones, even after a failure.
      const isStaged = await isStagedIn(events)
      const isFinal = error instanceof StartupError || error instanceof InputError || job.failures + 1 >= FAILURES_MAX
      if (error instanceof JobCancelledError && !isStaged) {
        await events.discard()
        await this.#held.end({ ...(await this.#withoutPlans(turn.job)), state: 'cancelled', endedAtMs: clock.now() })
        log.info(facts, 'a job that applies rules to stored events was cancelled')
        return
      }
      const problem = (error as Error).message
      const failed = { ...turn.job, failures: job.failures + 1, problem }
      if (!isFinal || isStaged) {
        await this.#held.write(failed)
        throw error
      }
      await events.discard()
      await this.#held.end({ ...(await this.#withoutPlans(failed)), state: 'failed', endedAtMs: clock.now() })
      log.error({ err: error, ...facts }, 'rules cannot be applied to stored events')
    }
  }

  /** Without a result that was written but never applied. */
  async #withoutPlans(job: ReenrichJob): Promise<ReenrichJob> {
    if (await this.#held.isReplaced(job)) return job
    const { result: _, ...without } = job
    return { ...without, changedEvents: 0 }
  }

  async #run(turn: Turn): Promise<void> {
    const { events, lease, getTenant } = this.#options
    const assertHeld = () => lease.assertHeld()
    const say = () => {}
    const onReplaced = (staged: Staged) => this.#held.noteReplaced(staged)
    const shared = { events, replacement: events, assertHeld, say, onReplaced }
    await finishReenrich({ ...shared, checkpoint: (progress) => turn.progressed(progress) })
    const tenant = await getTenant(turn.job.tenantId)
    if (tenant === undefined || tenant.deleting) throw new JobCancelledError('its tenant was deleted')
    const scope = new RuleScope(turn.job.rules, turn.job.unclassified)
    await this.#options.withData(async ({ frozen, enricher, hostnames }) => {
      if (!(await this.#held.isReplaced(turn.job))) {
        const lane = await this.#options.openLane(assertHeld)
        await turn.began('settling', 0)
        await pause(this.#options.settleMs ?? RULES_SETTLE_MS, turn.signal)
        await lane.untilStored()
        const selection = this.#selectionOf(turn.job, tenant, scope)
        const hidden = { ...selection, from: FIRST_DAY, hiddenBy: turn.job.rules }
        turn.total = (await events.count(selection, 'events')) + (await events.count(hidden, 'hidden'))
        const judge = ruleJudgeOf(turn.job, tenant, judgedBy(frozen, tenant))
        await reenrich(selection, {
          ...shared,
          ...{ hidden, data: judge.data, run: { id: turn.job.run!, by: turn.job.requestedBy } },
          isInScope: (group) => isInScope(group, scope),
          judged: (group) => judgeByRules(group, judge),
          checkpoint: (progress) => turn.progressed(progress),
          onJudged: async (report) => {
            await turn.judged(await this.#resultOf(report))
            await this.#options.persisted()
          },
        })
      }
      if (turn.job.days !== HIDDEN_ONLY && mayReturn(turn.job, tenant))
        await this.#returnFiltered(turn, tenant, scope, enricher, hostnames)
    })
  }

  #selectionOf({ tenantId, days }: ReenrichJob, tenant: Tenant, { narrowed }: RuleScope): Selection {
    const nowMs = this.#options.clock.now()
    const from = this.#firstDay(days, tenant)
    return { tenantId, from, to: utcDay(nowMs), receivedUntilMs: nowMs, scope: narrowed }
  }

  #firstDay(days: number | null, { id, retentionDays }: Tenant): string {
    const nowMs = this.#options.clock.now()
    const ofTenants = new Map(retentionDays === undefined ? [] : [[id, retentionDays]])
    const floor = retentionFloor({ defaultDays: this.#options.retentionDays, ofTenants }, id, nowMs) ?? FIRST_DAY
    // 0 days begin tomorrow, so there is no event.
    const from = days === null ? FIRST_DAY : utcDay(nowMs - (days - 1) * DAY_MS)
    return [from, floor].sort()[1]!
  }

  async #resultOf({ events, filtered, shown, deleted }: ReenrichReport): Promise<ReenrichmentResult> {
    const none = { filtered: 0, kept: 0, shown: 0 }
    const visits = events.changed === 0 ? none : await this.#options.events.stagedVisits()
    return {
      changed_events: events.changed,
      filtered_events: filtered.events,
      filtered_visits: visits.filtered,
      changed_visits: visits.kept,
      ...{ shown_events: shown.events, shown_visits: visits.shown, deleted_events: deleted.events },
      not_judged_events: events.not_judged,
      returned_events: 0,
    }
  }

  /** Brings filtered events of the archive back that the rules now keep. */
  async #returnFiltered(
    turn: Turn,
    tenant: Tenant,
    scope: RuleScope,
    enricher: Enricher,
    hostnames: Hostnames | undefined,
  ): Promise<void> {
    const { lease, archive, stored, windowMs, clock } = this.#options
    const { tenantId, days } = turn.job
    const selection = { tenantId, from: this.#firstDay(days, tenant), to: utcDay(clock.now()) }
    if (!tenant.archive && (await archive.parts(selection)).length === 0) return
    await turn.began('archive', REPLACED_SHARE)
    const lane = await this.#options.openLane(() => {
      lease.assertHeld()
      turn.assertGoing()
    })
    // Events that the old rules filtered just now are in a part that is still open.
    await lane.untilArchived()
    const report = await replay({
      ...{ selection, where: [], mask: addressMaskOf(tenant), dryRun: false, reenrich: true },
      ...{ reader: archive, stored, hostnames, enricher: tenantEnricher(enricher, tenant), windowMs },
      lane,
      returns: (address, enrichment) => scope.has(enrichment.rule) || scope.matches(address, enrichment),
      roundEvents: ROUND_EVENTS,
      onStep: () => {},
      onProgress: ({ parts, partsDone }) => turn.archived(partsDone / Math.max(1, parts)),
    })
    turn.returned(report.counts.found)
  }
}

/** The process stops; another one continues the job. */
class StoppedError extends Error {
  override name = 'StoppedError'
}

/** The work of this process on a job: its progress, its pauses, and whether it must end. */
class Turn {
  job: ReenrichJob
  /** Events to judge. */
  total = 0
  readonly signal: AbortSignal
  readonly #held: HeldJobs
  readonly #pauseFactor: number
  #isCancelled = false
  #writing: Promise<unknown> = Promise.resolve()
  #writtenMs = Number.NEGATIVE_INFINITY
  #workingSinceMs = performance.now()

  constructor(job: ReenrichJob, held: HeldJobs, { pauseFactor = PAUSE_FACTOR }: JobRunnerOptions, signal: AbortSignal) {
    this.job = job
    this.#held = held
    this.#pauseFactor = pauseFactor
    this.signal = signal
  }

  async began(step: NonNullable<ReenrichJob['step']>, share: number): Promise<void> {
    this.#note({ step, share })
    await this.#write()
    this.assertGoing()
  }

  async progressed(progress: ReenrichProgress): Promise<void> {
    if (progress.step === 'judging') {
      this.#note({ step: 'judging', share: this.total === 0 ? 0 : (JUDGED_SHARE * progress.events) / this.total })
    } else if (progress.run === this.job.run) {
      const part = progress.slicesDone / progress.slices
      this.#note({ step: 'replacing', share: JUDGED_SHARE + (REPLACED_SHARE - JUDGED_SHARE) * part })
    }
    if (performance.now() - this.#writtenMs >= WRITE_EVERY_MS) await this.#write()
    // A replacement in progress must be finished, by this process or the next one.
    if (progress.step === 'judging') this.assertGoing()
    else this.#assertRunning()
    await this.#rest()
  }

  /** Writes the result. From here on the job can no longer be cancelled, unless it changes nothing. */
  async judged(result: ReenrichmentResult): Promise<void> {
    // A person who cancels after this is refused. One who cancelled before is seen by the next check.
    this.#note({ step: 'replacing', share: JUDGED_SHARE, result, changedEvents: result.changed_events })
    await this.#write()
    this.assertGoing()
  }

  archived(part: number): void {
    this.#note({ step: 'archive', share: REPLACED_SHARE + (1 - REPLACED_SHARE) * part })
    // The lease and the next check notice a failure.
    this.#writing = this.#write().catch(() => {})
    this.assertGoing()
  }

  returned(events: number): void {
    const { result } = this.job
    if (result === undefined) return
    const changed_events = result.changed_events + events
    this.#note({ result: { ...result, returned_events: events, changed_events }, changedEvents: changed_events })
  }

  /** @throws JobCancelledError or StoppedError */
  assertGoing(): void {
    if (this.#isCancelled) throw new JobCancelledError('a person cancelled it')
    this.#assertRunning()
  }

  #assertRunning(): void {
    if (this.signal.aborted) throw new StoppedError('the process stops')
  }

  #note(change: Partial<ReenrichJob>): void {
    const { problem: _, ...job } = this.job
    this.job = { ...job, ...change }
  }

  async #write(): Promise<void> {
    await this.#writing
    this.#writtenMs = performance.now()
    const outcome = await this.#held.write({ ...this.job, ...(this.#isCancelled && { isCancelling: true }) })
    if (outcome !== 'written') this.#isCancelled = true
  }

  async #rest(): Promise<void> {
    const workedMs = performance.now() - this.#workingSinceMs
    await pause(Math.min(PAUSE_MAX_MS, workedMs * this.#pauseFactor), this.signal)
    this.#workingSinceMs = performance.now()
  }
}

/** Rules that give events to a company, or back to one; all others only hide them. */
const GIVING: readonly string[] = ['is', 'never-noise', 'keep']

function ruleJudgeOf(
  { rules, unclassified, deletes = [] }: ReenrichJob,
  tenant: TenantRules,
  data: RuleJudge['data'],
): RuleJudge {
  const givesCompanies = unclassified || rules.some((rule) => GIVING.includes(kindOf(rule)))
  return { rules: tenant, data, givesCompanies, deletes: new Set(deletes) }
}

/** Whether filtered events may return: a rule that keeps events was added, or one that filters them was removed. */
function mayReturn({ rules, unclassified }: ReenrichJob, { rules: now = [] }: TenantRules): boolean {
  const keeps = (rule: string) => (now.includes(rule) ? GIVING.includes(kindOf(rule)) : isHiding(rule))
  return unclassified || rules.some(keeps)
}
