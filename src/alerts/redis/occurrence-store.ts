import { hash } from 'node:crypto'
import { ALERT_LIMITS } from '../../../schemas/alert.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { Delivery } from '../delivery.ts'
import { digestLine, type Message } from '../messages.ts'
import type { Alert } from './alert-store.ts'
import { memberOf } from './delivery-store.ts'

const using = '../../stores/redis/members.lua'
const tellScript = loadScript(import.meta.url, './tellOccurrences-12.lua', { using })

const DAY_MS = 86_400_000
/** What is older than this is told no more, so it need not be remembered either: see `FRESH_DAYS`. */
const REMEMBERED_DAYS = 7
const PER_CALL = 100

/** Something that an alert tells once. */
export interface Occurrence {
  /** Identifies it among those of the alert. */
  readonly key: string
  /** Makes the id of its message, when the same key may occur again later. */
  readonly stamp: string
  readonly message: Message
  readonly answer: SentAnswer
}

/** What a message said of a company, to notice a correction. */
export interface SentAnswer {
  readonly name: string
  readonly domain: string
  /** `present`, `hidden`, `gone`, or the company that it was merged into. */
  readonly state: string
  /** Its latest day with a visit, `YYYY-MM-DD`. */
  readonly day: string
}

/** `left`: the alert is gone, paused or resumed. `full`: too many messages wait, or it remembers too many companies. */
export type TellResult = number | 'left' | 'full'

/** Writes what alerts tell, under the lease of the evaluation. */
export class RedisOccurrences {
  readonly #lease: Pick<ShareLease, 'run'>

  constructor(lease: Pick<ShareLease, 'run'>) {
    this.#lease = lease
  }

  /**
   * Tells occurrences that were not told yet. May be repeated.
   * @returns how many were new
   */
  async tell(alert: Alert, occurrences: readonly Occurrence[], nowMs: number): Promise<TellResult> {
    let told = 0
    for (let at = 0; at < occurrences.length; at += PER_CALL) {
      const result = await this.#tellSome(alert, occurrences.slice(at, at + PER_CALL), nowMs)
      if (typeof result === 'string') return result
      told += result
    }
    return told
  }

  async #tellSome(alert: Alert, occurrences: readonly Occurrence[], nowMs: number): Promise<TellResult> {
    const { id, tenantId } = alert
    const isDigest = alert.digest !== undefined
    const names = [
      keys.alertsOf(tenantId),
      keys.toldBy(id),
      keys.deliveries(tenantId),
      keys.deliveryTimes(tenantId),
      keys.waitingDeliveries(id, 'due'),
      keys.deliveryQueues(),
      keys.digestOf(id),
      keys.sentAnswers(tenantId),
      keys.sentTimes(tenantId),
    ]
    const args = [
      ...[id, alert.active_since, nowMs, memberOf({ tenantId, alertId: id, queue: 'due' }), ALERT_LIMITS.waitingMax],
      ...[ALERT_LIMITS.companiesMax, isDigest ? ALERT_LIMITS.digestMax : ''],
      alert.on === 'segment.entered' ? '' : nowMs - REMEMBERED_DAYS * DAY_MS,
      ALERT_LIMITS.answersMax,
      ...occurrences.flatMap((occurrence) => {
        const delivery = deliveryOf(alert, occurrence, nowMs)
        const content = isDigest ? digestLine(occurrence.message) : delivery
        const company = occurrence.message.data.company!.company_id
        return [occurrence.key, delivery.id, JSON.stringify(content), company, JSON.stringify(occurrence.answer)]
      }),
    ]
    const result = Number(await this.#lease.run(tellScript, names, args))
    return result === -2 ? 'left' : result === -3 ? 'full' : result
  }
}

/** The message of an occurrence. Its id depends on the alert and the occurrence alone. */
export function deliveryOf(alert: Alert, { key, stamp, message }: Occurrence, nowMs: number): Delivery {
  const company = message.data.company
  return newDelivery(alert, messageId(alert.id, `${key}\n${stamp}`), message, nowMs, {
    companyId: company?.company_id ?? '',
    companyName: company?.name ?? '',
  })
}

export function newDelivery(
  alert: Alert,
  id: string,
  message: Message,
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
