import { hash } from 'node:crypto'
import { ALERT_LIMITS } from '../../../schemas/alert.ts'
import { ALERT_MESSAGES_PER_HOUR } from '../../../schemas/limits.ts'
import { DAY_MS } from '../../pipeline/event/outcomes.ts'
import { noteCompanies } from '../../pipeline/sinks/touched/touched-companies.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { Delivery } from '../delivery.ts'
import { type DigestLine, digestLine, type Message, nameOf } from '../messages.ts'
import { type Alert, isAlert } from './alert-store.ts'
import { memberOf } from './delivery-store.ts'

const using = ['../../stores/redis/members.lua', './alerts.lua']
const recordScript = loadScript(import.meta.url, './recordOccurrences-13.lua', { using })
const keepScript = loadScript(import.meta.url, './keepMembers-6.lua', { using })
const correctScript = loadScript(import.meta.url, './correctReported-N.lua', { using })
const digestScript = loadScript(import.meta.url, './sendDigest-10.lua', { using })
const forgetScript = loadScript(import.meta.url, './forgetTouched-1.lua')

/** No alert fires for a visit that is older than `FRESH_MS`, so an older record is not needed. */
const REMEMBERED_DAYS = 7
const PER_CALL = 100
const MEMBERS_PER_CALL = 1_000

/** Something that an alert reports once. */
export interface Occurrence {
  /** Identifies it among those of the alert. */
  readonly key: string
  /** With the key, identifies its message: the same key may occur again later. */
  readonly stamp: string
  readonly message: Message
  /** Undefined for a job. */
  readonly facts?: ReportedFacts
}

/** The report of a message about a company. A later difference is a correction. */
export interface ReportedFacts {
  readonly name: string
  readonly domain: string
  /** Name that a person gave it; empty when none did. */
  readonly given: string
  /** `present`, `hidden`, `gone`, or the company that it was merged into. */
  readonly state: string
  /** Its latest visit, RFC 3339. */
  readonly seen: string
  /** Ids of the segments that it was in, of those with an alert on corrections; undefined: none. */
  readonly segments?: readonly string[]
}

/** An alert that reports a correction, and its message. */
export interface CorrectionMessage {
  readonly alert: Alert
  readonly message: Message
}

/**
 * The number of new occurrences. `inactive`: the alert was removed, paused or resumed. `full`: it remembers too many companies.
 */
export type RecordResult = number | 'inactive' | 'full'

/** A touched company, and when the sink noted it last: as Redis writes it. */
export type Touched = readonly [companyId: string, noted: string]

/** The progress of an alert's evaluation. */
export interface AlertProgress {
  /** The moment whose state of its companies is recorded: as `startOf` says. */
  readonly baseline: string | undefined
  /** The filter of its segment then; empty: it has none. */
  readonly filter: string
  /** Up to when its digest was sent, milliseconds; 0: never. */
  readonly digestMs: number
  /** When the first line of its last digest above the limit of an hour was written, milliseconds; 0: never. */
  readonly digestFromMs: number
}

/** Reads and writes for the evaluation of alerts. It writes under its lease, so a process that lost it while it hung changes nothing. */
export class RedisOccurrences {
  readonly #client: RedisClient
  readonly #lease: Pick<ShareLease, 'run'>
  readonly #perHour: number

  /** @param perHour messages of an alert in an hour; the rest is one digest */
  constructor(client: RedisClient, lease: Pick<ShareLease, 'run'>, perHour: number = ALERT_MESSAGES_PER_HOUR) {
    this.#client = client
    this.#lease = lease
    this.#perHour = perHour
  }

  /** Tenants with an alert that is not paused. */
  tenants(): Promise<string[]> {
    return this.#client.smembers(keys.alertingTenants())
  }

  /** Touched companies, longest waiting first. @param untilMs leaves out those that were noted later */
  async touched(tenantId: string, limit: number, untilMs?: number): Promise<Touched[]> {
    const key = keys.touchedCompanies(tenantId)
    const until = untilMs === undefined ? '+inf' : untilMs * 1_000
    const found = await this.#client.zrangebyscore(key, '-inf', until, 'WITHSCORES', 'LIMIT', 0, limit)
    const touched: Touched[] = []
    for (let at = 0; at < found.length; at += 2) touched.push([found[at]!, found[at + 1]!])
    return touched
  }

  /** Removes those that are evaluated. Those that were touched again stay. */
  async forgetTouched(tenantId: string, touched: readonly Touched[]): Promise<void> {
    await forgetScript.run(this.#client, [keys.touchedCompanies(tenantId)], touched.flat())
  }

  /** When the longest waiting company was noted, milliseconds; undefined: none waits. */
  async touchedSince(): Promise<number | undefined> {
    let sinceMs: number | undefined
    for (const tenantId of await this.tenants()) {
      const [first] = await this.touched(tenantId, 1)
      if (first !== undefined) sinceMs = Math.min(sinceMs ?? Number.POSITIVE_INFINITY, Number(first[1]) / 1_000)
    }
    return sinceMs
  }

  async progress(alertId: string): Promise<AlertProgress> {
    const found = await this.#client.hmget(keys.alertProgress(alertId), 'baseline', 'filter', 'digest', 'digest_from')
    const [baseline, filter, digest, from] = found
    const digestTimes = { digestMs: Number(digest ?? 0), digestFromMs: Number(from ?? 0) }
    return { baseline: baseline ?? undefined, filter: filter ?? '', ...digestTimes }
  }

  /**
   * Records the companies of its segment at the start of an alert, so that it does not report them.
   * @param filter of its segment; empty: it has none
   * @returns false when the alert was removed, paused or resumed
   */
  async baseline(
    alert: Alert,
    {
      since,
      filter,
      members,
    }: { readonly since: string; readonly filter: string; readonly members: readonly string[] },
    nowMs: number,
  ): Promise<boolean> {
    const isSegment = alert.on === 'segment.entered'
    if (isSegment && !(await this.#keep(alert, 'begin', [], nowMs))) return false
    return (await this.addMembers(alert, members, nowMs)) && (await this.#keep(alert, 'end', [since, filter], nowMs))
  }

  /** Records companies of an alert's segment without a message. Those that have left it since the start of the alert stay so. */
  async addMembers(alert: Alert, companies: readonly string[], nowMs: number): Promise<boolean> {
    for (let at = 0; at < companies.length; at += MEMBERS_PER_CALL) {
      if (!(await this.#keep(alert, 'add', companies.slice(at, at + MEMBERS_PER_CALL), nowMs))) return false
    }
    return true
  }

  /** The recorded companies of an alert's segment. */
  members(alertId: string): Promise<string[]> {
    return this.#client.zrangebyscore(keys.recordedOccurrences(alertId), '(0', '+inf')
  }

  /** The companies among some that an alert has no record of: it has not reported them, and they have not left its segment. */
  async unrecorded(alertId: string, companies: readonly string[]): Promise<string[]> {
    const unrecorded: string[] = []
    for (let at = 0; at < companies.length; at += MEMBERS_PER_CALL) {
      const part = companies.slice(at, at + MEMBERS_PER_CALL)
      const times = await this.#client.zmscore(keys.recordedOccurrences(alertId), ...part)
      unrecorded.push(...part.filter((_, i) => times[i] === null))
    }
    return unrecorded
  }

  /** Those among occurrences that an alert has not reported. A company that has left its segment may enter again. */
  async unreported(alertId: string, occurrences: readonly Occurrence[]): Promise<Occurrence[]> {
    const unreported: Occurrence[] = []
    for (let at = 0; at < occurrences.length; at += MEMBERS_PER_CALL) {
      const part = occurrences.slice(at, at + MEMBERS_PER_CALL)
      const times = await this.#client.zmscore(keys.recordedOccurrences(alertId), ...part.map(({ key }) => key))
      unreported.push(...part.filter((_, i) => Number(times[i] ?? 0) <= 0))
    }
    return unreported
  }

  /** Notes companies as the sink does, so that they are evaluated. */
  async touch(tenantId: string, companies: readonly string[]): Promise<void> {
    await noteCompanies(this.#client, tenantId, companies)
  }

  /** Removes companies that have left the segment, so that their next entry is reported. */
  async removeMembers(alert: Alert, companies: readonly string[], nowMs: number): Promise<void> {
    for (let at = 0; at < companies.length; at += MEMBERS_PER_CALL) {
      if (!(await this.#keep(alert, 'remove', companies.slice(at, at + MEMBERS_PER_CALL), nowMs))) return
    }
  }

  async #keep(
    { id, tenantId, active_since: since }: Alert,
    mode: 'begin' | 'add' | 'remove' | 'end',
    items: readonly string[],
    nowMs: number,
  ): Promise<boolean> {
    const names = [keys.alertsOf(tenantId), keys.recordedOccurrences(id), keys.alertProgress(id)]
    const args = [id, since, nowMs, mode, ALERT_LIMITS.companiesMax, ...items]
    return (await this.#lease.run(keepScript, names, args)) === 1
  }

  /** Reports about companies, as JSON of `ReportedFacts`. */
  async reportedFacts(tenantId: string): Promise<Readonly<Record<string, string>>> {
    return await this.#client.hgetall(keys.reportedFacts(tenantId))
  }

  /**
   * Replaces the report about a company, and writes the messages that correct it.
   * @param before its JSON
   * @param correctors ids of all alerts on corrections that the caller knows
   * @returns false when the facts before have changed meanwhile, or there is a corrector that the caller does not know
   */
  async correct(
    tenantId: string,
    company: string,
    {
      before,
      now,
      messages,
      correctors,
    }: {
      readonly before: string
      readonly now: ReportedFacts
      readonly messages: readonly CorrectionMessage[]
      readonly correctors: ReadonlySet<string>
    },
    nowMs: number,
  ): Promise<boolean> {
    const names = [
      keys.reportedFacts(tenantId),
      keys.alertsOf(tenantId),
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.deliveryQueues(),
      ...messages.flatMap(({ alert: { id } }) => [
        ...[keys.waitingDeliveries(id, 'due'), keys.digestOf(id), keys.alertProgress(id)],
      ]),
    ]
    const args = [
      ...[company, before, JSON.stringify(now), nowMs, ALERT_LIMITS.digestMax],
      JSON.stringify([...correctors]),
      ...messages.flatMap(({ alert, message }) => {
        const key = { key: company, stamp: `${before}\n${JSON.stringify(now)}\n${nowMs}` }
        const delivery = deliveryOf(alert, { ...key, message }, nowMs)
        const queue = memberOf({ tenantId, alertId: alert.id, queue: 'due' })
        return [alert.id, queue, delivery.id, ...this.#formsOf(delivery, message), this.#limitOf(alert)]
      }),
    ]
    return (await this.#lease.run(correctScript, names, args)) === 1
  }

  /** Messages of an alert in an hour. A weekly digest has all of its occurrences. */
  #limitOf({ digest }: Alert): number {
    return digest === undefined ? this.#perHour : 0
  }

  /** An occurrence as a message, and as a line of a digest. */
  #formsOf(delivery: Delivery, message: Message): [string, string] {
    return [JSON.stringify(delivery), JSON.stringify(digestLine(message))]
  }

  /** The companies of the next digest; undefined for those above the limit. */
  async digest(alertId: string): Promise<(DigestLine | undefined)[]> {
    const lines = await this.#client.lrange(keys.digestOf(alertId), 0, -1)
    return lines.map((line) => (line === '' ? undefined : (JSON.parse(line) as DigestLine)))
  }

  /**
   * Writes the message of a due time once, when there is room for it and the alert is still active. For an alert, it replaces the first
   * lines of its digest.
   * @param lines how many; 0: the due time is done without a message
   */
  async sendDigest(
    alert: Alert,
    lines: number,
    message: Pick<Message, 'type'>,
    dueMs: number,
    nowMs: number,
  ): Promise<void> {
    const { id, tenantId } = alert
    const queue = isAlert(alert) ? 'due' : 'digest'
    const delivery = newDelivery(alert, messageId(id, `digest\n${dueMs}`), message, nowMs, {
      companyId: '',
      companyName: '',
    })
    const names = [
      keys.alertProgress(id),
      keys.digestOf(id),
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.waitingDeliveries(id, queue),
      keys.deliveryQueues(),
      keys.alertsOf(tenantId),
    ]
    const member = memberOf({ tenantId, alertId: id, queue })
    const args = [dueMs, lines, delivery.id, JSON.stringify(delivery), nowMs, member]
    const limit = alert.digest === undefined && queue === 'due' ? this.#perHour : ''
    await this.#lease.run(digestScript, names, [...args, limit, id])
  }

  /**
   * Records the occurrences that are new, and writes their messages. May be repeated.
   */
  async record(alert: Alert, occurrences: readonly Occurrence[], nowMs: number): Promise<RecordResult> {
    let recorded = 0
    for (let at = 0; at < occurrences.length; at += PER_CALL) {
      const result = await this.#recordSome(alert, occurrences.slice(at, at + PER_CALL), nowMs)
      if (typeof result === 'string') return result
      recorded += result
    }
    return recorded
  }

  async #recordSome(alert: Alert, occurrences: readonly Occurrence[], nowMs: number): Promise<RecordResult> {
    const { id, tenantId } = alert
    const names = [
      keys.alertsOf(tenantId),
      keys.recordedOccurrences(id),
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.waitingDeliveries(id, 'due'),
      keys.deliveryQueues(),
      keys.digestOf(id),
      keys.reportedFacts(tenantId),
      keys.reportedTimes(tenantId),
      keys.alertProgress(id),
    ]
    const args = [
      ...[id, alert.active_since, nowMs, memberOf({ tenantId, alertId: id, queue: 'due' }), this.#limitOf(alert)],
      ...[ALERT_LIMITS.companiesMax, ALERT_LIMITS.digestMax],
      alert.on === 'segment.entered' ? '' : nowMs - REMEMBERED_DAYS * DAY_MS,
      ALERT_LIMITS.reportedMax,
      ...occurrences.flatMap((occurrence) => {
        const delivery = deliveryOf(alert, occurrence, nowMs)
        const forms = this.#formsOf(delivery, occurrence.message)
        const { facts = { name: delivery.companyName } } = occurrence
        return [occurrence.key, delivery.id, ...forms, delivery.companyId, JSON.stringify(facts)]
      }),
    ]
    const result = Number(await this.#lease.run(recordScript, names, args))
    return result === -2 ? 'inactive' : result === -3 ? 'full' : result
  }
}

/** The message of an occurrence. Its id depends on the alert and the occurrence alone. */
export function deliveryOf(
  alert: Alert,
  { key, stamp, message }: Pick<Occurrence, 'key' | 'stamp' | 'message'>,
  nowMs: number,
): Delivery {
  return newDelivery(alert, messageId(alert.id, `${key}\n${stamp}`), message, nowMs, {
    companyId: message.data.company?.company_id ?? '',
    companyName: nameOf(message.data),
  })
}

export function newDelivery(
  alert: Pick<Alert, 'id' | 'name'>,
  id: string,
  message: Pick<Message, 'type'>,
  nowMs: number,
  company: Pick<Delivery, 'companyId' | 'companyName'>,
): Delivery {
  return {
    id,
    rev: 1,
    alertId: alert.id,
    alertName: alert.name,
    type: message.type,
    ...company,
    createdAtMs: nowMs,
    body: JSON.stringify(message),
    state: 'waiting',
    failures: 0,
    attempts: [],
  }
}

/** @param occurrence identifies it among those of the alert */
export function messageId(alertId: string, occurrence: string): string {
  return `msg_${hash('sha256', `${alertId}\n${occurrence}`, 'hex').slice(0, 32)}`
}
