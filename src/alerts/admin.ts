import { randomBytes, timingSafeEqual } from 'node:crypto'
import { ALERT_LIMITS, type AlertKind, type AlertRecord, type AlertType, normalAddress } from '../../schemas/alert.ts'
import type { Maker } from '../../schemas/maker.ts'
import { type Segment, Segments } from '../companies/segments/segments.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../run/clock.ts'
import { cutText } from '../run/cut-text.ts'
import { readDisplayName } from '../run/display-name.ts'
import { InputError } from '../run/errors.ts'
import { SecretBox, SecretError } from '../secrets/secret-box.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { TENANT_ID } from '../tenants/tenancy.ts'
import { CONFIRM_TYPE, type Delivery, isSubscribed, TEST_TYPE } from './delivery.ts'
import { type ReadWeek, weekMessage } from './digests/week.ts'
import { assertAlertFacts, assertEmailAddress, waitsFor, wrongTarget } from './facts.ts'
import { linkBaseOf } from './link-base.ts'
import { type ConfirmMessage, nameOf, testMessage } from './messages.ts'
import { RedisAddresses } from './redis/address-store.ts'
import {
  type Alert,
  type Digest,
  type ExportMail,
  type FiringAlert,
  isAlert,
  isDigest,
  isExportMail,
  isSubscription,
  RedisAlerts,
  type Subscription,
} from './redis/alert-store.ts'
import { RedisDeliveries } from './redis/delivery-store.ts'
import { newDelivery } from './redis/occurrence-store.ts'
import { RedisTestLimits, type TestLimit } from './redis/test-limits.ts'
import type { AlertSecret } from './sending/channels.ts'
import { Destinations } from './sending/destinations.ts'
import { newWebhookSecret } from './sending/signature.ts'

/** A new alert, as a person describes it. */
export interface NewAlert {
  readonly name: string
  readonly on: AlertType
  /** Name of a segment. */
  readonly segment?: string | undefined
  readonly afterDays?: number | undefined
  readonly to: AlertKind
  /** The URL, or the e-mail address. */
  readonly target: string
  readonly digest?: 'weekly' | undefined
  /** User of the dashboard. */
  readonly madeBy?: Maker | undefined
}

/** A subscription to the digest, as a person describes it. */
export interface NewDigest {
  readonly address: string
  readonly every: NonNullable<AlertRecord['every']>
  /** HH:MM, in the zone of the tenant. */
  readonly at: string
  /** Name of a segment; undefined: all companies. */
  readonly segment?: string | undefined
  /** Whether it is sent also when no company visited. */
  readonly sendsEmpty?: boolean | undefined
  /** User of the dashboard. */
  readonly madeBy?: Maker | undefined
}

/** A subscription to the files of an export, as a person describes it. */
export interface NewExportMail {
  readonly address: string
  readonly export: NonNullable<AlertRecord['export']>
  /** Whether it ends after one file. */
  readonly once: boolean
  /** User of the dashboard. */
  readonly madeBy?: Maker | undefined
}

interface AlertAdminOptions {
  readonly alerts: RedisAlerts
  readonly deliveries: RedisDeliveries
  readonly addresses: RedisAddresses
  readonly limits: Pick<RedisTestLimits, 'take'>
  readonly segments: Segments
  readonly destinations: Destinations
  readonly secrets: SecretBox
  readonly dashboardUrl: string
  readonly clock: Clock
}

/**
 * Manages the alerts of a tenant. Methods throw `InputError` with a one-line reason when the request is invalid, and `UnavailableError`
 * when the store is down.
 */
export class AlertAdmin {
  readonly #options: AlertAdminOptions

  constructor(options: AlertAdminOptions) {
    this.#options = options
  }

  /** Alerts, and subscriptions to the digest, oldest first. */
  records(tenantId: string): Promise<Alert[]> {
    return this.#options.alerts.list(tenantId)
  }

  async list(tenantId: string): Promise<FiringAlert[]> {
    return (await this.records(tenantId)).filter(isAlert)
  }

  async named(tenantId: string, name: string): Promise<FiringAlert> {
    const all = await this.list(tenantId)
    const found = all.find((alert) => alert.name === name)
    if (found !== undefined) return found
    const names = all.map((alert) => alert.name).join(', ') || 'none'
    throw new InputError(`tenant ${tenantId} has no alert ${JSON.stringify(name)}; it has ${names}`)
  }

  /** @throws InputError when there is none */
  async get(tenantId: string, id: string): Promise<Alert> {
    const found = await this.#options.alerts.get(tenantId, id)
    if (found === undefined) throw new InputError('there is no such alert any more')
    return found
  }

  /** @returns the alert, and the secret of a webhook, which no one can read later */
  async create(tenantId: string, given: NewAlert): Promise<{ readonly alert: FiringAlert; readonly secret?: string }> {
    const { alerts, secrets, clock } = this.#options
    const name = readDisplayName(given.name, "an alert's name", ALERT_LIMITS.nameMaxChars, 'name')
    const segment = await this.#assertValid(tenantId, given)
    const id = newAlertId()
    const at = new Date(clock.now()).toISOString()
    const unconfirmed = await this.#toConfirm(tenantId, given)
    const { target, sealed, key } = await this.#destination(given, (text) => secrets.seal(text, id))
    const record: AlertRecord = {
      ...{ name, on: given.on, to: given.to, target, created_at: at, active_since: at },
      ...(given.on === 'company.returned' && { after_days: given.afterDays ?? ALERT_LIMITS.afterDays }),
      ...(segment && { segment_id: segment.id }),
      ...(sealed !== undefined && { secret: sealed }),
      ...(given.digest && { digest: given.digest }),
      ...(given.madeBy && { made_by: given.madeBy }),
      ...(unconfirmed !== undefined && {
        ...{ unconfirmed, paused: unconfirmedSince(at, unconfirmed) },
      }),
    }
    const wanted: Alert = { ...record, id, tenantId }
    // In one step: an alert without its mail would wait forever.
    const question = unconfirmed === undefined ? undefined : await this.#question(wanted, unconfirmed)
    const alert = (await alerts.create(wanted, question)) as FiringAlert
    return { alert, ...(key !== undefined && { secret: key }) }
  }

  /** Subscriptions to the digest, oldest first. */
  async digests(tenantId: string): Promise<Digest[]> {
    return (await this.records(tenantId)).filter(isDigest)
  }

  /**
   * Subscribes an address to the digest of all companies or of a segment. An address that has it gets it as described from now on, also
   * after a pause.
   */
  async subscribe(tenantId: string, given: NewDigest): Promise<Digest> {
    const { alerts, clock } = this.#options
    const { every, at, madeBy } = given
    const target = normalAddress(given.address)
    assertEmailAddress(target)
    const segment = await this.#assertValid(tenantId, { ...given, on: 'digest', to: 'email' })
    const own = (await this.digests(tenantId)).find((one) => one.target === target && one.segment_id === segment?.id)
    if (own !== undefined) return await this.#subscribeAgain(own, given)
    const id = newAlertId()
    const now = new Date(clock.now()).toISOString()
    const unconfirmed = await this.#toConfirm(tenantId, { on: 'digest', to: 'email', target, madeBy })
    const name = cutText(
      `Digest for ${target}${segment === undefined ? '' : ` (${segment.name})`}`,
      ALERT_LIMITS.nameMaxChars,
    )
    const wanted: Alert = {
      ...{ id, tenantId, name, on: 'digest', to: 'email', target, every, at, created_at: now, active_since: now },
      secret: this.#newLinkKey(id),
      ...(segment && { segment_id: segment.id }),
      ...(given.sendsEmpty && { sends_empty: true }),
      ...(madeBy && { made_by: madeBy }),
      ...(unconfirmed !== undefined && { unconfirmed, paused: unconfirmedSince(now, unconfirmed) }),
    }
    const question = unconfirmed === undefined ? undefined : await this.#question(wanted, unconfirmed)
    return (await alerts.create(wanted, question)) as Digest
  }

  /** Subscriptions to files of exports, oldest first. */
  async exportMails(tenantId: string): Promise<ExportMail[]> {
    return (await this.records(tenantId)).filter(isExportMail)
  }

  /**
   * Sends an address the files of an export that are written from now on, or the next one only. A repeat ends a pause; an address that has to
   * confirm is asked again.
   */
  async mailExport(tenantId: string, given: NewExportMail): Promise<ExportMail> {
    const { alerts, clock } = this.#options
    const { export: of, madeBy } = given
    const once = given.once ? (true as const) : undefined
    const target = normalAddress(given.address)
    assertEmailAddress(target)
    const now = new Date(clock.now()).toISOString()
    const known = await this.exportMails(tenantId)
    const own = known.find((one) => one.target === target && one.export.id === of.id && one.once === once)
    // One for a single file has had its file, though the mail failed.
    const isUsed = own?.once && own.paused?.by === 'failures'
    if (own !== undefined && !isUsed) return await this.#mailAgain(own, madeBy)
    if (own !== undefined) await this.remove(own)
    const id = newAlertId()
    const unconfirmed = await this.#toConfirm(tenantId, { on: 'export', to: 'email', target, madeBy })
    const wanted: Alert = {
      ...{ id, tenantId, name: cutText(`${of.name} for ${target}`, ALERT_LIMITS.nameMaxChars), on: 'export' },
      ...{ to: 'email', target, export: of, created_at: now, active_since: now, secret: this.#newLinkKey(id) },
      ...(once && { once }),
      ...(madeBy && { made_by: madeBy }),
      ...(unconfirmed !== undefined && { unconfirmed, paused: unconfirmedSince(now, unconfirmed) }),
    }
    const question = unconfirmed === undefined ? undefined : await this.#question(wanted, unconfirmed)
    return (await alerts.create(wanted, question)) as ExportMail
  }

  async #mailAgain(own: ExportMail, by: Maker | undefined): Promise<ExportMail> {
    if (own.paused === undefined) return own
    const changed = (await this.#change(own.tenantId, own.id, this.#startAgain(own))) as ExportMail
    if (own.unconfirmed !== undefined) await this.askAgain(changed, by)
    return changed
  }

  /** Ends a pause. A subscription that waits for its address starts at the confirmation, also after a restore, which pauses it. */
  #startAgain(own: Alert) {
    const secret = this.#linkKeyOf(own) === undefined ? this.#newLinkKey(own.id) : undefined
    const now = new Date(this.#options.clock.now()).toISOString()
    const paused = own.unconfirmed === undefined ? null : unconfirmedSince(now, own.unconfirmed)
    return { active_since: now, paused, ...(secret && { secret }) }
  }

  /**
   * Counts a file that a person requests, as tests for its receivers.
   * @param by user of the dashboard
   * @throws BackpressureError after too many by the user, or to one of them
   */
  async takeFile(tenantId: string, exportId: string, by: Maker): Promise<void> {
    const mails = (await this.exportMails(tenantId)).filter((mail) => mail.export.id === exportId && !mail.paused)
    const limits = mails.flatMap((mail) => testLimits(mail, undefined))
    if (limits.length > 0) await this.#options.limits.take(tenantId, [memberLimit(by), ...limits])
  }

  async #subscribeAgain(own: Digest, { every, at, sendsEmpty, madeBy }: NewDigest): Promise<Digest> {
    const change = { every, at, sends_empty: sendsEmpty ? (true as const) : null, ...this.#startAgain(own) }
    const changed = (await this.#change(own.tenantId, own.id, change)) as Digest
    if (own.unconfirmed !== undefined) await this.askAgain(changed, madeBy)
    return changed
  }

  /**
   * Sends a subscriber the digest of now. Counts as a test.
   * @param by user of the dashboard
   * @returns the id of the message
   */
  async sendDigest(digest: Digest, readWeek: ReadWeek, by?: Maker): Promise<string> {
    const { deliveries, segments, clock, limits, dashboardUrl } = this.#options
    const { tenantId, id: alertId, name: alertName, segment_id: segmentId } = digest
    assertSends(digest)
    const segment = segmentId === undefined ? undefined : await segments.existing(tenantId, segmentId)
    await limits.take(tenantId, testLimits(digest, by))
    const nowMs = clock.now()
    const week = await readWeek(tenantId, segment?.where, nowMs)
    const context = { tenantId, alertId, alertName, segment: segment?.name, dashboardUrl }
    const message = weekMessage(digest, week, context, nowMs)
    const delivery = newDelivery(digest, newMessageId(), message, nowMs, { companyId: '', companyName: '' })
    await deliveries.add(tenantId, delivery, nowMs)
    return delivery.id
  }

  /**
   * The subscription that a link ends, of the texts of its URL. `gone`: it has ended. `invalid`: the link is incomplete. `sealed`: the secrets key
   * is another one now, so that no link can be checked.
   */
  async subscriptionOfLink(
    tenantId: string,
    id: string,
    key: string,
  ): Promise<Subscription | 'gone' | 'invalid' | 'sealed'> {
    if (!TENANT_ID.test(tenantId) || !ALERT_ID.test(id)) return 'invalid'
    const found = await this.#options.alerts.get(tenantId, id)
    if (found === undefined || !isSubscription(found)) return 'gone'
    const expected = this.#linkKeyOf(found)
    if (expected === undefined) return 'sealed'
    const [one, other] = [Buffer.from(expected), Buffer.from(key)]
    return one.length === other.length && timingSafeEqual(one, other) ? found : 'invalid'
  }

  #newLinkKey(id: string): string {
    // Programs for mail leave a punctuation mark at the end of a link out.
    return this.#options.secrets.seal(randomBytes(24).toString('hex'), id)
  }

  /** The key of the link that ends a subscription; undefined: it was encrypted under another secrets key. */
  #linkKeyOf({ id, secret = '' }: Alert): string | undefined {
    try {
      return this.#options.secrets.open(secret, id)
    } catch (error) {
      if (error instanceof SecretError) return undefined
      throw error
    }
  }

  /** Ends a subscription at the request of its receiver: a new one has to be confirmed again. */
  async unsubscribe(subscription: Subscription): Promise<void> {
    const { tenantId, target: address, on } = subscription
    // First: killed in between, a repeat of the request still finds the subscription.
    await this.#options.addresses.optOut({ tenantId, address }, on)
    await this.#options.addresses.forget({ tenantId, address })
    await this.remove(subscription)
  }

  /**
   * Ends what is sent to the address of somebody who left: subscriptions end, and alerts are paused and wait for the address to confirm again, as
   * all later ones do. May be repeated.
   * @returns how many
   */
  async endMails(tenantId: string, given: string): Promise<number> {
    const { addresses } = this.#options
    const of = { tenantId, address: normalAddress(given) }
    await addresses.forget(of)
    const all = await this.records(tenantId)
    const own = all.filter(({ to, target }) => to === 'email' && normalAddress(target) === of.address)
    for (const one of own) {
      if (isSubscription(one)) await this.unsubscribe(one)
      else await this.#change(tenantId, one.id, { unconfirmed: of.address, paused: this.#pausedByPerson() })
    }
    return own.length
  }

  /** The address that must confirm a new alert; undefined: none must. */
  async #toConfirm(
    tenantId: string,
    given: Pick<AlertRecord, 'on' | 'to' | 'target'> & Pick<NewAlert, 'madeBy'>,
  ): Promise<string | undefined> {
    const { on, to, target, madeBy } = given
    if (to !== 'email') return undefined
    assertEmailAddress(target)
    const address = normalAddress(target)
    if (await this.#options.addresses.isConfirmed({ tenantId, address }, on)) return undefined
    await this.#options.limits.take(tenantId, testLimits({ target }, madeBy))
    return address
  }

  /**
   * A mail with a link that confirms. The token is encrypted in it, because members read messages. The token is stored first: it
   * confirms nothing without an alert that waits.
   */
  async #question({ id: alertId, name, tenantId, every, export: of }: Alert, address: string): Promise<Delivery> {
    const { addresses, secrets, clock, dashboardUrl } = this.#options
    const id = newMessageId()
    const token = await addresses.newToken({ tenantId, address })
    const link = secrets.seal(`${dashboardUrl}/confirm?token=${token}`, id)
    const message: ConfirmMessage = {
      type: CONFIRM_TYPE,
      data: {
        tenant_id: tenantId,
        alert: { id: alertId, name },
        address,
        link,
        ...(every && { every }),
        ...(of && { export: of.name }),
      },
    }
    return newDelivery({ id: alertId, name }, id, message, clock.now(), { companyId: '', companyName: '' })
  }

  /** Sends the mail that asks to confirm again. A restored subscription starts at the confirmation. @throws BackpressureError after too many */
  async askAgain(alert: Alert, by?: Maker): Promise<void> {
    const { unconfirmed } = alert
    if (unconfirmed === undefined) throw new InputError(`${alert.target} does not have to confirm`)
    await this.#options.limits.take(alert.tenantId, testLimits(alert, by))
    if (!isAlert(alert) && alert.paused?.by === 'restore')
      await this.#change(alert.tenantId, alert.id, this.#startAgain(alert))
    const question = await this.#question(alert, unconfirmed)
    await this.#options.deliveries.add(alert.tenantId, question, question.createdAtMs)
  }

  /** Confirms an address without a link, for an operator. @returns it, see `normalAddress` */
  async confirm(tenantId: string, given: string): Promise<string> {
    const address = normalAddress(given)
    assertEmailAddress(address)
    await this.#options.addresses.confirm({ tenantId, address }, this.#options.clock.now())
    return address
  }

  async #assertValid(tenantId: string, given: Parameters<typeof assertAlertFacts>[0]): Promise<Segment | undefined> {
    assertAlertFacts(given)
    const { segment } = given
    return segment === undefined ? undefined : await this.#options.segments.named(tenantId, segment)
  }

  async #destination({ to, target }: NewAlert, seal: (text: string) => string) {
    if (to === 'email') {
      assertEmailAddress(target)
      return { target }
    }
    const url = await this.#options.destinations.read(target).catch((error: Error) => {
      throw error instanceof InputError ? wrongTarget(error.message, error) : error
    })
    const service = SERVICES[to]
    if (service !== undefined && url.protocol !== 'https:' && service.host.test(url.hostname))
      throw wrongTarget(`the URL of ${service.name} must start with https://`)
    const key = to === 'webhook' ? newWebhookSecret() : undefined
    const secret: AlertSecret = { url: url.href, ...(key !== undefined && { key }) }
    // The path of a service, and the query of a webhook, may be secret.
    const shown =
      service !== undefined ? `${url.origin}/…` : url.origin + url.pathname + (url.search === '' ? '' : '?…')
    return { target: shown, sealed: seal(JSON.stringify(secret)), key }
  }

  async pause({ tenantId, id }: Alert): Promise<Alert> {
    return await this.#change(tenantId, id, { paused: this.#pausedByPerson() })
  }

  #pausedByPerson(): NonNullable<AlertRecord['paused']> {
    return { at: new Date(this.#options.clock.now()).toISOString(), by: 'person', reason: '' }
  }

  /** Events during the pause are not reported. Waiting messages are sent, also those that the receiver wanted later. */
  async resume({ tenantId, id, paused, unconfirmed }: Alert): Promise<Alert> {
    assertConfirmed(unconfirmed)
    if (paused === undefined) return await this.get(tenantId, id)
    const since = new Date(this.#options.clock.now()).toISOString()
    await this.#options.alerts.endHold(id)
    return await this.#change(tenantId, id, { paused: null, active_since: since })
  }

  async #change(tenantId: string, id: string, change: Parameters<RedisAlerts['change']>[2]): Promise<Alert> {
    const changed = await this.#options.alerts.change(tenantId, id, change)
    if (changed === undefined) throw new InputError('there is no such alert any more')
    return changed
  }

  async remove({ tenantId, id }: Alert): Promise<void> {
    await this.#options.alerts.remove(tenantId, id, this.#options.clock.now())
  }

  /**
   * Makes a message with an example, which is sent once, also while the alert is paused.
   * @param by user of the dashboard; undefined: a command
   * @returns its id
   * @throws BackpressureError after too many by the user, or to the destination
   */
  async test(alert: Alert, by?: Maker): Promise<string> {
    const { deliveries, segments, clock, dashboardUrl } = this.#options
    const { tenantId, id: alertId, name: alertName, segment_id: segmentId } = alert
    assertConfirmed(alert.unconfirmed)
    const segment = segmentId === undefined ? undefined : (await segments.get(tenantId, segmentId))?.name
    const nowMs = clock.now()
    const context = { tenantId, alertId, alertName, segment, dashboardUrl }
    const message = testMessage(context, nowMs, alert.on)
    const id = newMessageId()
    await this.#options.limits.take(tenantId, testLimits(alert, by))
    const of = { companyId: message.data.company?.company_id ?? '', companyName: nameOf(message.data) }
    await deliveries.add(tenantId, newDelivery(alert, id, message, nowMs, of), nowMs)
    return id
  }

  delivery(tenantId: string, id: string): Promise<Delivery | undefined> {
    return this.#options.deliveries.get(tenantId, id)
  }

  /**
   * Sends a message again, with the same id, also while its alert is paused. A test, and a delivered message, counts as a test.
   * @throws BackpressureError after too many
   */
  async sendAgain(tenantId: string, id: string, by?: Maker): Promise<Delivery> {
    const { deliveries, clock } = this.#options
    const found = await deliveries.get(tenantId, id)
    if (found === undefined) throw new InputError('there is no such message any more')
    const alert = await this.get(tenantId, found.alertId)
    assertConfirmed(alert.unconfirmed)
    if (found.type === CONFIRM_TYPE) throw new InputError('the address is confirmed')
    if (isSubscribed(found.type)) assertSends(alert)
    const isTest = found.type === TEST_TYPE || found.state === 'delivered'
    const reached = `this message was sent again ${ALERT_LIMITS.testsMax} times`
    const limits = isTest ? testLimits(alert, by) : [{ of: 'message', id, reached } as const]
    await this.#options.limits.take(tenantId, limits)
    const next: Delivery = { ...found, rev: found.rev + 1, state: 'waiting', failures: 0 }
    if (await deliveries.add(tenantId, next, clock.now(), found.rev)) return next
    throw new InputError('the message has just changed: look at it again')
  }
}

/** Services whose webhooks have secret paths, and their hosts. */
const SERVICES: Partial<Record<AlertKind, { readonly name: string; readonly host: RegExp }>> = {
  slack: { name: 'Slack', host: /(^|\.)slack\.com$/ },
  teams: { name: 'Teams', host: /(^|\.)(logic\.azure\.com|powerplatform\.com|office\.com)$/ },
}

const ALERT_ID = /^alert_[0-9a-f]{12}$/

/** As `ALERT_ID`. */
function newAlertId(): string {
  return `alert_${randomBytes(6).toString('hex')}`
}

/** @param at ISO 8601 */
function unconfirmedSince(at: string, address: string): NonNullable<AlertRecord['paused']> {
  return { at, by: 'unconfirmed', reason: waitsFor(address) }
}

function newMessageId(): string {
  return `msg_${randomBytes(16).toString('hex')}`
}

function assertConfirmed(unconfirmed: string | undefined): void {
  if (unconfirmed !== undefined) throw new InputError(`the alert ${waitsFor(unconfirmed)}`)
}

/** @throws InputError when a subscription waits for its address, or is paused */
function assertSends({ unconfirmed, paused }: Alert): void {
  assertConfirmed(unconfirmed)
  if (paused !== undefined) throw new InputError('the subscription is paused: subscribe the address again first')
}

/** Another alert to the same destination, and another spelling of an e-mail address, has the same limit. */
function testLimits({ target }: Pick<Alert, 'target'>, by: Maker | undefined): TestLimit[] {
  const tests = `${ALERT_LIMITS.testsMax} tests`
  const limits: TestLimit[] = by === undefined ? [] : [memberLimit(by)]
  limits.push({ of: 'destination', id: normalAddress(target), reached: `${tests} were sent to this destination` })
  return limits
}

function memberLimit({ id }: Maker): TestLimit {
  return { of: 'member', id, reached: `you sent ${ALERT_LIMITS.testsMax} tests` }
}

/** Manages alerts over a connection, with the settings of the instance. */
export function alertAdmin(client: RedisClient, config: Config, clock: Clock): AlertAdmin {
  const secrets = new SecretBox(config)
  return new AlertAdmin({
    alerts: new RedisAlerts(client),
    deliveries: new RedisDeliveries(client),
    addresses: new RedisAddresses(client, secrets),
    limits: new RedisTestLimits(client),
    segments: new Segments(client, clock),
    destinations: new Destinations({ allowsPrivate: config.webhookPrivate === 'on' }),
    secrets,
    dashboardUrl: linkBaseOf(config),
    clock,
  })
}
