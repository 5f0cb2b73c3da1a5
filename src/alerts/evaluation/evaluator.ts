import type { Logger } from 'pino'
import { ALERT_LIMITS, type AlertRecord, JOB_TYPE } from '../../../schemas/alert.ts'
import type { Segment } from '../../companies/segments/segments.ts'
import { isLater, lastDue } from '../../exports/schedule.ts'
import { DAY_MS } from '../../pipeline/event/outcomes.ts'
import { ALL_COMPANIES, FRESH_MS } from '../../pipeline/sinks/touched/touched-companies.ts'
import type { EndedJobs } from '../../pipeline/sources/batch/redis/ended-jobs.ts'
import type { Clock } from '../../run/clock.ts'
import { LeaseLostError } from '../../run/errors.ts'
import { type Lease, LeasedService } from '../../run/leased-service.ts'
import { type DelayBounds, pause } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import { type Tenant, zoneOfTenant, zonesOf } from '../../tenants/tenancy.ts'
import type { ReadWeek } from '../digests/week.ts'
import { DigestWriter } from '../digests/writer.ts'
import { ExportMailWriter, type ExportMailWriterOptions } from '../export-mails/writer.ts'
import {
  type CompanyActivity,
  type DigestReason,
  digestMessage,
  type MessageContext,
  messageOf,
  withActivity,
} from '../messages.ts'
import {
  type Alert,
  type Digest,
  type FiringAlert,
  isAboutCompanies,
  isAlert,
  isDigest,
  isExportMail,
  type RedisAlerts,
} from '../redis/alert-store.ts'
import type { Occurrence, RedisOccurrences, ReportedFacts, Touched } from '../redis/occurrence-store.ts'
import { JobReporter } from './ended-jobs.ts'
import {
  correctionOf,
  factsNow,
  occurrencesOf,
  reportedCompany,
  segmentsAround,
  type VisitedCompany,
  type VisitedDay,
  withSegments,
} from './rules.ts'
import type { ClickHouseVisits } from './visits.ts'

interface EvaluatorOptions {
  readonly lease: Lease
  readonly alerts: RedisAlerts
  readonly occurrences: RedisOccurrences
  readonly visits: ClickHouseVisits
  readonly jobs: Pick<EndedJobs, 'page' | 'read'>
  readonly readWeek: ReadWeek
  readonly exports: ExportMailWriterOptions['exports']
  readonly waiting: ExportMailWriterOptions['waiting']
  readonly segments: { list(tenantId: string): Promise<readonly Segment[]> }
  readonly getTenant: (id: string) => Promise<Tenant | undefined>
  /** Days that events are kept when the tenant has no number of its own; undefined: forever. */
  readonly retentionDays: number | undefined
  /** Base of the dashboard's URLs. */
  readonly dashboardUrl: string
  /** Delay between a note and its evaluation, milliseconds: on a cluster, until the replicas have the rows. */
  readonly settleMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** Companies per query. */
const TOUCHED_PER_TURN = 500
const FACTS_PER_QUERY = 2_000
const RECEIVED_PER_QUERY = 10_000
const LOOK_EVERY_MS = 2_000
const SWEEP_EVERY_MS = 600_000
const CORRECT_EVERY_MS = 30_000
const LOOP_DELAY: DelayBounds = { minMs: 500, maxMs: 10_000 }
const HOUR_MS = 3_600_000
/** When the e-mail of an alert with `digest: weekly` is sent. */
export const WEEKLY = { every: 'week', at: '08:00' } as const

/**
 * Finds when alerts fire. One process at a time does this, under a lease. It evaluates the state of the companies that the sink has noted,
 * and not events. After a crash, a replay or a reenrichment it evaluates them again, and reports nothing twice.
 */
export class Evaluator extends LeasedService {
  readonly #options: EvaluatorOptions
  readonly #digests: DigestWriter
  readonly #exportMails: ExportMailWriter
  readonly #jobs: JobReporter
  /** `clock.now()` of the last sweeps and corrections, by alert and by tenant. */
  readonly #sweptMs = new Map<string, number>()
  readonly #correctedMs = new Map<string, number>()

  constructor(options: EvaluatorOptions) {
    const problem = 'alerts are not evaluated at the moment; nothing is lost'
    super({ ...options, name: 'alert evaluator', delay: LOOP_DELAY, problem })
    this.#options = options
    this.#exportMails = new ExportMailWriter(options)
    this.#jobs = new JobReporter(options)
    this.#digests = new DigestWriter({
      ...options,
      zoneOf: zonesOf(options),
      contextOf: (digest, segments) => this.#contextOf(digest, segments),
    })
  }

  protected override async round(): Promise<number> {
    const { occurrences, log } = this.#options
    let isMore = false
    for (const tenantId of await occurrences.tenants()) {
      if (this.signal.aborted) break
      try {
        if (await this.#turn(tenantId)) isMore = true
      } catch (err) {
        if (err instanceof LeaseLostError) throw err
        // The other tenants still have their turn.
        log.warn({ err, tenant_id: tenantId, ...PASSING }, 'the alerts of a tenant are evaluated again later')
      }
    }
    return isMore ? 0 : LOOK_EVERY_MS
  }

  /**
   * Alerts, files and digests fail apart, such as for a segment that takes too long.
   * @returns whether more companies are touched, or more uploads have ended
   * @throws the error of the first that failed, after all were tried; `LeaseLostError` at once
   */
  async #turn(tenantId: string): Promise<boolean> {
    const { alerts, segments, getTenant, clock } = this.#options
    const tenant = await getTenant(tenantId)
    if (tenant === undefined || tenant.deleting) {
      await alerts.removeAll(tenantId, clock.now())
      return false
    }
    const known = new Map((await segments.list(tenantId)).map((segment) => [segment.id, segment]))
    const all = await alerts.list(tenantId)
    const unpaused = all.filter(({ paused }) => paused === undefined)
    let isMore = false
    const failures: unknown[] = []
    for (const work of [
      async () => {
        if (await this.#turnOfAlerts(tenant, unpaused.filter(isAlert).filter(isAboutCompanies), known)) isMore = true
      },
      async () => {
        if (await this.#reportJobs(unpaused.filter(isAlert).filter((alert) => !isAboutCompanies(alert)))) isMore = true
      },
      // Last: alerts do not wait for them.
      () => this.#exportMails.write(all.filter(isExportMail)),
      () => this.#sendDigests(unpaused.filter(isDigest), known),
    ]) {
      try {
        await work()
      } catch (error) {
        if (error instanceof LeaseLostError) throw error
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return isMore
  }

  /** @returns whether more companies are touched */
  async #turnOfAlerts(
    tenant: Tenant,
    active: readonly FiringAlert[],
    known: ReadonlyMap<string, Segment>,
  ): Promise<boolean> {
    const { occurrences, clock, settleMs } = this.#options
    const { id: tenantId } = tenant
    const correctors = active.filter(({ on }) => on === 'company.corrected')
    const ready: Alert[] = []
    for (const alert of active) if (await this.#prepare(alert, known, correctors)) ready.push(alert)
    // First, so that events of a new hour are not part of the digest of the last one.
    for (const alert of ready) await this.#digest(alert, known)
    await this.#correct(tenant, ready, known, correctors)
    for (const alert of ready) await this.#sweep(alert, known)
    const touched = await occurrences.touched(
      tenantId,
      TOUCHED_PER_TURN,
      settleMs === 0 ? undefined : clock.now() - settleMs,
    )
    if (touched.length > 0) {
      if (touched.some(([id]) => id === ALL_COMPANIES)) await this.#evaluateAll(tenantId, ready, known)
      const single = touched.filter(([id]) => id !== ALL_COMPANIES)
      if (single.length > 0) await this.#evaluate(tenantId, ready, known, single)
      await occurrences.forgetTouched(tenantId, touched)
    }
    return touched.length === TOUCHED_PER_TURN
  }

  /**
   * Records the state at the start of an alert, which it does not report: the state at that moment, even if we are late. Then everything that has
   * happened since is evaluated, even if an earlier turn has evaluated it without this alert or with another filter.
   * @returns whether it is ready to be evaluated
   */
  async #prepare(alert: Alert, segments: ReadonlyMap<string, Segment>, correctors: readonly Alert[]): Promise<boolean> {
    const { occurrences, visits, clock } = this.#options
    const segment = alert.segment_id === undefined ? undefined : segments.get(alert.segment_id)
    if (alert.segment_id !== undefined && segment === undefined) {
      await this.#pause(alert, 'its segment was removed')
      return false
    }
    // With another filter a segment is another one: a change would otherwise report all that it adds.
    const filter = alert.on === 'segment.entered' ? segment!.where : ''
    const since = startOf(alert, segment)
    const progress = await occurrences.progress(alert.id)
    if (progress.baseline === since && progress.filter === filter) return true
    // Segments that an older version has changed do not say when.
    const sinceMs = progress.baseline === since ? clock.now() : Date.parse(since)
    if (alert.on === 'company.corrected') {
      await this.#correctSince(alert, sinceMs, { correctors, segments })
      return await occurrences.baseline(alert, { since, filter, members: [] }, clock.now())
    }
    const members = alert.on === 'segment.entered' ? await this.#membersAt(alert, segment!, sinceMs) : []
    if (members === undefined) return false
    for (let after = ''; ; ) {
      const freshMs = clock.now() - FRESH_MS
      const ids = await visits.receivedSince(alert.tenantId, sinceMs, freshMs, after, RECEIVED_PER_QUERY)
      await occurrences.touch(alert.tenantId, ids)
      if (ids.length < RECEIVED_PER_QUERY) break
      after = ids.at(-1)!
    }
    return await occurrences.baseline(alert, { since, filter, members }, clock.now())
  }

  /** The companies of an alert's segment at its start; undefined: they are too many, and the alert is paused. */
  async #membersAt(alert: Alert, segment: Segment, sinceMs: number): Promise<string[] | undefined> {
    const { visits, settleMs } = this.#options
    const { companiesMax } = ALERT_LIMITS
    const settled = () => pause(settleMs)
    const members = await visits.membersAt(alert.tenantId, segment.where, sinceMs, companiesMax + 1, settled)
    if (members.length <= companiesMax) return members
    await this.#pause(alert, `its segment has more than ${companiesMax} companies: choose a narrower one`)
    return undefined
  }

  /** Brings the reported facts up to date. A new alert on corrections reports those since its start, the others report all. */
  async #correctSince(
    alert: Alert,
    sinceMs: number,
    {
      correctors,
      segments,
    }: { readonly correctors: readonly Alert[]; readonly segments: ReadonlyMap<string, Segment> },
  ): Promise<void> {
    const { occurrences, visits } = this.#options
    const firing: Alert[] = []
    for (const other of correctors) {
      const segment = segments.get(other.segment_id ?? '')
      const isPrepared = (await occurrences.progress(other.id)).baseline === startOf(other, segment)
      if (other.id !== alert.id && isPrepared) firing.push(other)
    }
    const corrected = new Set((await visits.corrections(alert.tenantId, sinceMs + 1)).map(({ company_id: id }) => id))
    const firingFor = (id: string) => (corrected.has(id) ? [...firing, alert] : firing)
    await this.#correctNow(alert.tenantId, { firingFor, correctors, segments })
  }

  async #pause(alert: Alert, reason: string): Promise<void> {
    const { alerts, clock, log } = this.#options
    const paused: AlertRecord['paused'] = { at: new Date(clock.now()).toISOString(), by: 'limit', reason }
    await alerts.change(alert.tenantId, alert.id, { paused })
    log.warn({ tenant_id: alert.tenantId, alert: alert.id, reason }, 'an alert is paused')
  }

  /** Evaluates all companies with a fresh visit, when too many were touched to note each. */
  async #evaluateAll(tenantId: string, alerts: readonly Alert[], segments: ReadonlyMap<string, Segment>) {
    const { visits, clock } = this.#options
    const sinceMs = clock.now() - FRESH_MS
    for (let after = ''; ; ) {
      const ids = await visits.visitedSince(tenantId, sinceMs, after, TOUCHED_PER_TURN)
      const stamp = String(clock.now())
      if (ids.length > 0)
        await this.#evaluate(
          tenantId,
          alerts,
          segments,
          ids.map((id) => [id, stamp] as const),
        )
      if (ids.length < TOUCHED_PER_TURN) return
      after = ids.at(-1)!
    }
  }

  async #evaluate(
    tenantId: string,
    alerts: readonly Alert[],
    segments: ReadonlyMap<string, Segment>,
    touched: readonly Touched[],
  ): Promise<void> {
    const { visits, occurrences, getTenant, clock, log } = this.#options
    const wanted = alerts.filter(({ on }) => on !== 'company.corrected')
    if (wanted.length === 0) return
    const targets = await visits.targets(
      tenantId,
      touched.map(([id]) => id),
    )
    const stamps = new Map(touched.map(([id, noted]) => [targets.get(id) ?? id, noted]))
    const ids = [...stamps.keys()]
    const companies = await visits.companies(tenantId, ids)
    const hasFirst = wanted.some(({ on }) => on === 'company.first_seen')
    const received = hasFirst ? await visits.firstReceived(tenantId, ids) : new Map<string, number>()
    const hasReturns = wanted.some(({ on }) => on === 'company.returned')
    const days = hasReturns ? await visits.days(tenantId, ids) : new Map<string, readonly VisitedDay[]>()
    const members = await this.#membersOf(tenantId, segmentIdsOf(alerts), segments, ids)
    const noted = segmentIdsOf(alerts.filter(({ on }) => on === 'company.corrected'))
    const activities = new Map<string, CompanyActivity>()
    const tenant = await getTenant(tenantId)
    const zone = zoneOfTenant(tenant)
    const zoneSinceMs = tenant?.timeZoneSince === undefined ? 0 : Date.parse(tenant.timeZoneSince)
    for (const alert of wanted) {
      const state = { companies, received, days, members, stamps, noted, zone, zoneSinceMs }
      const found = occurrencesOf(alert, state, this.#contextOf(alert, segments), clock.now(), FRESH_MS)
      const inside = alert.on === 'segment.entered' ? members.get(alert.segment_id!) : undefined
      if (inside !== undefined) {
        const segment = segments.get(alert.segment_id!)!
        const outside = ids.filter((id) => !inside.has(id))
        await this.#leave(alert, segment, outside)
        await this.#recordLate(alert, segment, [...inside])
      }
      const fresh = await this.#described(tenantId, await occurrences.unreported(alert.id, found), activities)
      const recorded = await occurrences.record(alert, fresh, clock.now())
      if (recorded === 'full') {
        await this.#pause(alert, `it remembers ${ALERT_LIMITS.companiesMax} companies`)
      } else if (typeof recorded === 'number' && recorded > 0) {
        log.debug({ tenant_id: tenantId, alert: alert.id, occurrences: recorded }, 'an alert fires')
      }
    }
  }

  /** Adds the visits of their companies to messages. Only for messages that are written: it reads more than the rest of the evaluation. */
  async #described(
    tenantId: string,
    occurrences: readonly Occurrence[],
    known: Map<string, CompanyActivity>,
  ): Promise<Occurrence[]> {
    const { visits, clock } = this.#options
    const idOf = ({ message }: Occurrence) => message.data.company!.company_id
    const missing = occurrences.map(idOf).filter((id) => !known.has(id))
    if (missing.length > 0) {
      const found = await visits.activities(tenantId, missing, clock.now() - FRESH_MS)
      for (const [id, activity] of found) known.set(id, activity)
    }
    return occurrences.map((one) => ({ ...one, message: withActivity(one.message, known.get(idOf(one))!) }))
  }

  /** Records companies that events from before the start of an alert brought into its segment, but that were stored later. */
  async #recordLate(alert: Alert, segment: Segment, inside: readonly string[]): Promise<void> {
    const { visits, occurrences, clock } = this.#options
    const sinceMs = Date.parse(startOf(alert, segment))
    // No event is stored so late.
    if (clock.now() - sinceMs > FRESH_MS) return
    const unrecorded = await occurrences.unrecorded(alert.id, inside)
    const received = await visits.firstReceived(alert.tenantId, unrecorded)
    const older = unrecorded.filter((id) => (received.get(id) ?? 0) <= sinceMs)
    if (older.length === 0) return
    const members = await visits.membersAmong(alert.tenantId, segment.where, sinceMs, older)
    await occurrences.addMembers(alert, members, clock.now())
  }

  /** Finds companies that have left the segment of an alert without a visit. */
  async #sweep(alert: Alert, segments: ReadonlyMap<string, Segment>): Promise<void> {
    if (alert.on !== 'segment.entered') return
    const { visits, occurrences, clock } = this.#options
    const sweptMs = this.#sweptMs.get(alert.id)
    if (sweptMs !== undefined && clock.now() - sweptMs < SWEEP_EVERY_MS) return
    this.#sweptMs.set(alert.id, clock.now())
    const known = await occurrences.members(alert.id)
    const segment = segments.get(alert.segment_id!)!
    const members = await visits.members(alert.tenantId, segment.where, undefined, ALERT_LIMITS.companiesMax + 1)
    if (members.length > ALERT_LIMITS.companiesMax) return
    const current = new Set(members)
    const gone = known.filter((id) => !current.has(id))
    await this.#leave(alert, segment, gone)
  }

  /** Records that companies are not in the segment of an alert. A rule that hides visits takes none out: shown again, they are no news. */
  async #leave(alert: Alert, segment: Segment, ids: readonly string[]): Promise<void> {
    const { visits, occurrences, clock } = this.#options
    const unrecorded = new Set(await occurrences.unrecorded(alert.id, ids))
    const recorded = ids.filter((id) => !unrecorded.has(id))
    const hidden = await visits.withHidden(alert.tenantId, segment.where, recorded)
    const left = recorded.filter((id) => !hidden.has(id))
    await occurrences.removeMembers(alert, left, clock.now())
  }

  async #correct(
    tenant: Tenant,
    alerts: readonly Alert[],
    segments: ReadonlyMap<string, Segment>,
    correctors: readonly Alert[],
  ): Promise<void> {
    const { clock } = this.#options
    const firing = alerts.filter(({ on }) => on === 'company.corrected')
    const correctedMs = this.#correctedMs.get(tenant.id)
    const isDue = correctedMs === undefined || clock.now() - correctedMs >= CORRECT_EVERY_MS
    if (firing.length === 0 || !isDue) return
    await this.#correctNow(tenant.id, { firingFor: () => firing, correctors, segments }, tenant)
    this.#correctedMs.set(tenant.id, clock.now())
  }

  /** Compares the reports about companies with the stored events. */
  async #correctNow(tenantId: string, { firingFor, correctors, segments }: Correctors, tenant?: Tenant): Promise<void> {
    const { occurrences, visits, clock, retentionDays } = this.#options
    const kept = tenant?.retentionDays ?? retentionDays
    const keptSinceMs = kept === undefined ? 0 : clock.now() - (kept - 1) * DAY_MS
    const reported = Object.entries(await occurrences.reportedFacts(tenantId))
    for (let at = 0; at < reported.length; at += FACTS_PER_QUERY) {
      const some = reported.slice(at, at + FACTS_PER_QUERY)
      const ids = some.map(([id]) => id)
      const [companies, fates] = await Promise.all([visits.companies(tenantId, ids), visits.fates(tenantId, ids)])
      const members = await this.#membersOf(tenantId, segmentIdsOf(correctors), segments, ids)
      const byId = new Map(companies.map((company) => [company.company_id, company]))
      for (const [id, json] of some) {
        const before = JSON.parse(json) as ReportedFacts
        const company = byId.get(id)
        const now = withSegments(factsNow(before, company, fates.get(id), keptSinceMs), segmentsAround(id, members))
        if (JSON.stringify(now) === json) continue
        const correction = correctionOf(before, now)
        const report = {
          company: reportedCompany(company ?? unknownCompany(id, before)),
          atMs: clock.now(),
          ...(correction && { correction }),
        }
        const around = new Set([...(before.segments ?? []), ...(now.segments ?? [])])
        const messages = (correction === undefined ? [] : firingFor(id))
          .filter(({ segment_id: of }) => of === undefined || around.has(of))
          .map((alert) => ({ alert, message: messageOf(alert.on, report, this.#contextOf(alert, segments)) }))
        const known = new Set(correctors.map((alert) => alert.id))
        await occurrences.correct(tenantId, id, { before: json, now, messages, correctors: known }, clock.now())
      }
    }
  }

  /** Companies that are in segments now, among some, by segment id. */
  async #membersOf(
    tenantId: string,
    wanted: ReadonlySet<string>,
    segments: ReadonlyMap<string, Segment>,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const members = new Map<string, ReadonlySet<string>>()
    for (const id of wanted) {
      const segment = segments.get(id)
      if (segment === undefined) continue
      members.set(id, new Set(await this.#options.visits.members(tenantId, segment.where, ids, ids.length)))
    }
    return members
  }

  async #digest(alert: Alert, segments: ReadonlyMap<string, Segment>): Promise<void> {
    const { occurrences, getTenant, clock } = this.#options
    const { digestMs, digestFromMs } = await occurrences.progress(alert.id)
    const zone = zoneOfTenant(await getTenant(alert.tenantId))
    const reason: DigestReason = alert.digest ?? 'limit'
    const isWeekly = reason === 'weekly'
    const dueMs = isWeekly ? lastDue(WEEKLY, clock.now(), zone) : Math.floor(clock.now() / HOUR_MS) * HOUR_MS
    const fromMs = isWeekly ? Date.parse(alert.created_at) : digestFromMs
    // A day has one digest of the week, also when the zone has changed since.
    const isSent = isWeekly ? !isLater(WEEKLY, dueMs, digestMs, zone) : digestMs >= dueMs
    if (fromMs === 0 || dueMs <= fromMs || isSent) return
    const found = await occurrences.digest(alert.id)
    if (found.length === 0 && !isWeekly) return
    const lines = found.flatMap((line) => line ?? [])
    const digest = { lines, total: found.length, reason }
    const of = alert.on === JOB_TYPE ? 'jobs' : 'companies'
    const message = digestMessage(digest, this.#contextOf(alert, segments), clock.now(), of)
    await occurrences.sendDigest(alert, found.length, message, dueMs, clock.now())
  }

  /** An alert on jobs begins at its start, so it needs no state. @returns whether more have ended */
  async #reportJobs(alerts: readonly FiringAlert[]): Promise<boolean> {
    const none = new Map<string, Segment>()
    let isAnyMore = false
    for (const alert of alerts) {
      await this.#digest(alert, none)
      const { recorded, isMore } = await this.#jobs.report(alert, this.#contextOf(alert, none))
      if (recorded === 'full') await this.#pause(alert, `it remembers ${ALERT_LIMITS.companiesMax} uploads`)
      if (isMore) isAnyMore = true
    }
    return isAnyMore
  }

  async #sendDigests(digests: readonly Digest[], segments: ReadonlyMap<string, Segment>): Promise<void> {
    const isGone = ({ segment_id: id }: Digest) => id !== undefined && !segments.has(id)
    for (const digest of digests.filter(isGone)) await this.#pause(digest, 'its segment was removed')
    const kept = digests.filter((digest) => !isGone(digest))
    if (kept.length > 0) await this.#digests.write(kept, segments)
  }

  #contextOf(alert: Alert, segments: ReadonlyMap<string, Segment>): MessageContext {
    const { id, tenantId, name, segment_id: segmentId } = alert
    const segment = segmentId === undefined ? undefined : segments.get(segmentId)?.name
    return { tenantId, alertId: id, alertName: name, segment, dashboardUrl: this.#options.dashboardUrl }
  }
}

/** Alerts on corrections. */
interface Correctors {
  /** Those that report a correction of a company. */
  readonly firingFor: (companyId: string) => readonly Alert[]
  /** All that are active. Their segments are noted in the facts: the next correction needs to know who was in them. */
  readonly correctors: readonly Alert[]
  readonly segments: ReadonlyMap<string, Segment>
}

/** The moment from which an alert reports: its own start, or a later change of its segment's filter. */
function startOf({ active_since: since }: Alert, segment: Segment | undefined): string {
  const changed = segment?.where_since
  return changed !== undefined && Date.parse(changed) > Date.parse(since) ? changed : since
}

function segmentIdsOf(alerts: readonly Alert[]): ReadonlySet<string> {
  return new Set(alerts.flatMap(({ segment_id: id }) => id ?? []))
}

const NEVER = new Date(0).toISOString()

/** A company that has no visible visits any more. */
function unknownCompany(id: string, { name, domain, seen }: ReportedFacts): VisitedCompany {
  return {
    ...{ company_id: id, name, domain, given_name: '', industry: '', industry_category: '', country_code: '' },
    ...{ classification: '', first_seen: seen, last_seen: seen, hidden_since: NEVER },
  }
}
