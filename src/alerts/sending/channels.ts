import type { Logger } from 'pino'
import { causeText } from '../../run/cause-text.ts'
import type { Clock } from '../../run/clock.ts'
import { cutText } from '../../run/cut-text.ts'
import { retryAfterMs } from '../../run/retry-after.ts'
import { timeLimit } from '../../run/time-limit.ts'
import type { SecretBox } from '../../secrets/secret-box.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import {
  type Attempt,
  CONFIRM_TYPE,
  type Delivery,
  FILE_TYPE,
  GONE,
  RETRY_AFTER_MAX_MS,
  shortened,
  WEEK_TYPE,
} from '../delivery.ts'
import { weekMail } from '../digests/mail.ts'
import type { WeekMessage } from '../digests/week.ts'
import { ATTACHED_BYTES_MAX, attachmentOf, type FileMessage, fileMail } from '../export-mails/message.ts'
import { waitsFor } from '../facts.ts'
import { type ConfirmMessage, confirmText, type Message, textOf } from '../messages.ts'
import type { Alert } from '../redis/alert-store.ts'
import { DestinationRefusedError, type Destinations } from './destinations.ts'
import type { Mailer } from './mail.ts'
import { ANSWER_MS, type PostAnswer, post } from './post.ts'
import { signedHeaders } from './signature.ts'
import { slackBody } from './slack.ts'
import { teamsBody } from './teams.ts'

/** The secrets of an alert, encrypted in its record. */
export interface AlertSecret {
  readonly url: string
  /** `whsec_…`; only webhooks have one. */
  readonly key?: string
}

interface ChannelsOptions {
  readonly destinations: Pick<Destinations, 'addressesOf'>
  readonly secrets: Pick<SecretBox, 'open'>
  /** Undefined: SMTP_URL is not set. */
  readonly mailer: Mailer | undefined
  /** Files of exports. */
  readonly files: Pick<ObjectStore, 'get'>
  readonly userAgent: string
  readonly clock: Clock
  readonly log: Logger
  /** Default: `ANSWER_MS`. */
  readonly timeoutMs?: number
}

/** Sends messages. */
export class Channels {
  readonly #options: ChannelsOptions

  constructor(options: ChannelsOptions) {
    this.#options = options
  }

  /**
   * Makes an attempt. It never rejects because of the receiver.
   * @throws the reason of `signal`
   */
  async send(alert: Alert, delivery: Delivery, signal: AbortSignal): Promise<Attempt> {
    const { clock } = this.#options
    const atMs = clock.now()
    const began = performance.now()
    const result = await this.#try(alert, delivery, atMs, signal).catch((error: Error) => {
      signal.throwIfAborted()
      if (error instanceof DestinationRefusedError) {
        const facts = { tenant_id: alert.tenantId, alert: alert.id, message: delivery.id, address: error.found }
        this.#options.log.info(facts, 'the destination of an alert leads to an address that is not public')
      }
      return { error: causeText(error) }
    })
    return shortened({ atMs, tookMs: Math.round(performance.now() - began), ...result })
  }

  async #try(alert: Alert, delivery: Delivery, atMs: number, signal: AbortSignal) {
    if (alert.to === 'email') return await this.#mail(alert, delivery, signal)
    const { url: text, key } = this.#secretOf(alert)
    const url = new URL(text)
    const body = bodyFor(alert.to, delivery.body)
    const { clock } = this.#options
    const headers = {
      'content-type': 'application/json',
      'user-agent': this.#options.userAgent,
      ...(key !== undefined && signedHeaders(key, delivery.id, atMs, body)),
    }
    const limitMs = this.#options.timeoutMs ?? ANSWER_MS
    const deadlineMs = performance.now() + limitMs
    const resolving = timeLimit(limitMs, signal)
    const addresses = await this.#options.destinations.addressesOf(url, resolving)
    const timeoutMs = Math.max(1, Math.round(deadlineMs - performance.now()))
    const answer = await post(url, { headers, body, addresses, signal, timeoutMs })
    const error = problemOf(answer)
    const waitMs = error === undefined ? undefined : retryAfterMs(answer.retryAfter, clock.now(), RETRY_AFTER_MAX_MS)
    return {
      ...{ status: answer.status, answer: answer.text },
      ...(error !== undefined && { error }),
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    }
  }

  async #mail(alert: Alert, delivery: Delivery, signal: AbortSignal) {
    const { mailer } = this.#options
    if (mailer === undefined) return { error: 'SMTP_URL is not set, so e-mail cannot be sent' }
    if (delivery.type === WEEK_TYPE) return await this.#mailWeek(alert, delivery, mailer, signal)
    if (delivery.type === FILE_TYPE) return await this.#mailFile(alert, delivery, mailer, signal)
    const isConfirm = delivery.type === CONFIRM_TYPE
    if (alert.unconfirmed !== undefined && !isConfirm) return { error: `the alert ${waitsFor(alert.unconfirmed)}` }
    const { subject, lines } = isConfirm ? this.#question(delivery) : textOf(JSON.parse(delivery.body) as Message)
    const mail = { id: delivery.id, to: alert.target, subject, text: lines.join('\n') }
    return { answer: await mailer.send(mail, signal) }
  }

  async #mailWeek(alert: Alert, { id, body }: Delivery, mailer: Mailer, signal: AbortSignal) {
    if (alert.unconfirmed !== undefined) return { error: `the digest ${waitsFor(alert.unconfirmed)}` }
    const message = JSON.parse(body) as WeekMessage
    const unsubscribeUrl = `${message.data.unsubscribe_url}&key=${this.#opened(alert, 'the link that unsubscribes')}`
    const { subject, lines, html } = weekMail(message, unsubscribeUrl)
    return {
      answer: await mailer.send(
        { id, to: alert.target, subject, text: lines.join('\n'), html, unsubscribeUrl },
        signal,
      ),
    }
  }

  async #mailFile(alert: Alert, { id, body }: Delivery, mailer: Mailer, signal: AbortSignal) {
    if (alert.unconfirmed !== undefined) return { error: `the export ${waitsFor(alert.unconfirmed)}` }
    const message = JSON.parse(body) as FileMessage
    const { file, unsubscribe_url } = message.data
    const unsubscribeUrl = `${unsubscribe_url}&key=${this.#opened(alert, 'the link that unsubscribes')}`
    const isLarge = file.bytes > ATTACHED_BYTES_MAX
    const content = isLarge ? undefined : await this.#options.files.get(file.key)
    try {
      const place = isLarge ? 'large' : content === undefined ? 'gone' : 'attached'
      const { subject, lines } = fileMail(message, place, unsubscribeUrl)
      const attachment = content && { ...attachmentOf(file.key), content }
      const mail = { id, to: alert.target, subject, text: lines.join('\n'), unsubscribeUrl, attachment }
      return { answer: await mailer.send(mail, signal) }
    } finally {
      content?.destroy()
    }
  }

  #question({ id, body }: Delivery) {
    const { data } = JSON.parse(body) as ConfirmMessage
    return confirmText(data, this.#options.secrets.open(data.link, id))
  }

  #secretOf(alert: Alert): AlertSecret {
    return JSON.parse(this.#opened(alert, 'the destination')) as AlertSecret
  }

  #opened({ id, secret = '' }: Alert, what: string): string {
    try {
      return this.#options.secrets.open(secret, id)
    } catch (error) {
      throw new Error(`${what} ${(error as Error).message}`)
    }
  }
}

/** The body of a message, in the form that the destination shows. @param json as a webhook gets it */
function bodyFor(to: Alert['to'], json: string): string {
  if (to === 'slack') return slackBody(JSON.parse(json) as Message)
  if (to === 'teams') return teamsBody(JSON.parse(json) as Message)
  return json
}

function problemOf({ status, location }: PostAnswer): string | undefined {
  if (status >= 200 && status < 300) return undefined
  if (status === GONE) return 'it answers 410: it is gone and wants no more messages'
  if (status >= 300 && status < 400 && location !== undefined)
    return `it redirects (${status}) to ${cutText(location, 200)}; redirects are not followed: give the final URL`
  return `it answers ${status}`
}
