import { ALERT_LIMITS } from '../../../../schemas/alert.ts'
import {
  AlertBody,
  type AlertsAnswer,
  type AlertTrialAnswer,
  type ChangedAlertAnswer,
  CreateAlertBody,
  type CreatedAlertAnswer,
  type DeliveryAttempt,
  type ListedAlert,
  type ListedMessage,
  MESSAGES_PAGE,
  type MessageAnswer,
  type MessagesAnswer,
  MessagesQuery,
  SendAgainBody,
  type TestedAlertAnswer,
  TryAlertBody,
} from '../../../../schemas/dashboard/alerts.ts'
import type { AlertAdmin } from '../../../alerts/admin.ts'
import type { Attempt, Delivery } from '../../../alerts/delivery.ts'
import type { AlertTrials } from '../../../alerts/evaluation/trial.ts'
import { type AlertActivity, type FiringAlert, isAlert, type RedisAlerts } from '../../../alerts/redis/alert-store.ts'
import type { RedisDeliveries } from '../../../alerts/redis/delivery-store.ts'
import type { Segment, Segments } from '../../../companies/segments/segments.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { InputError } from '../../../run/errors.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf } from '../sessions.ts'

export interface AlertDependencies {
  readonly alerts: AlertAdmin
  readonly alertActivity: Pick<RedisAlerts, 'activity'>
  readonly deliveries: Pick<RedisDeliveries, 'page' | 'get' | 'dueTimes' | 'waitingOf'>
  readonly segments: Segments
  readonly alertTrials: Pick<AlertTrials, 'run'>
  /** Whether SMTP_URL is set. */
  readonly canEmail: boolean
}

const PATH = '/api/tenants/:tenant/alerts'

/** Alerts and their messages (src/alerts/README.md). */
export function alertRoutes(parts: AlertDependencies): DashboardRoute[] {
  const { alerts, alertActivity, deliveries, segments, alertTrials, canEmail } = parts
  const segmentOf = async (tenantId: string, id: string | undefined): Promise<Segment | undefined> =>
    id === undefined ? undefined : await segments.existing(tenantId, id)
  const listed = async (alert: FiringAlert, names: ReadonlyMap<string, string>): Promise<ListedAlert> => {
    const [activity, waiting] = await Promise.all([alertActivity.activity(alert.id), deliveries.waitingOf(alert.id)])
    return listedAlert(alert, names, activity, waiting)
  }
  const segmentNames = async (tenantId: string) =>
    new Map((await segments.list(tenantId)).map(({ id, name }) => [id, name]))
  const alertOf = async (tenantId: string, id: string) => {
    const found = await alerts.get(tenantId, id)
    if (isAlert(found)) return found
    throw new InputError('this is a subscription to the digest, which the page of the digest changes')
  }
  const changed = async (tenantId: string, id: string) => {
    const answer: ChangedAlertAnswer = {
      alert: await listed(await alertOf(tenantId, id), await segmentNames(tenantId)),
    }
    return json(answer)
  }
  const change = (verb: 'pause' | 'resume') =>
    route({
      method: 'POST',
      path: `${PATH}/${verb}`,
      body: AlertBody,
      async handle({ tenant, body: { alert_id: id } }) {
        await alerts[verb](await alertOf(tenant.id, id))
        return await changed(tenant.id, id)
      },
    })
  return [
    route({
      method: 'GET',
      path: PATH,
      async handle({ tenant }) {
        const [found, names] = await Promise.all([alerts.list(tenant.id), segmentNames(tenant.id)])
        const answer: AlertsAnswer = {
          alerts: await Promise.all(found.map((alert) => listed(alert, names))),
          can_email: canEmail,
          alerts_max: ALERT_LIMITS.alertsMax,
        }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/try`,
      changes: false,
      body: TryAlertBody,
      async handle({ tenant, body: { on, after_days: afterDays = ALERT_LIMITS.afterDays, segment_id: id } }) {
        const segment = await segmentOf(tenant.id, id)
        if (on === 'segment.entered' && segment === undefined)
          throw new InputError('segment.entered needs a segment', { field: 'segment' })
        const trial = await alertTrials.run(tenant.id, { on, afterDays, where: segment?.where })
        const answer: AlertTrialAnswer = { ...trial, latest: [...trial.latest] }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      body: CreateAlertBody,
      async handle({ tenant, session, body: { after_days: afterDays, segment_id: id, ...given } }) {
        if (given.to === 'email') assertCanEmail(canEmail, 'target')
        const segment = (await segmentOf(tenant.id, id))?.name
        const target = given.target.trim()
        const wanted = { ...given, target, afterDays, segment, madeBy: makerOf(session) }
        const { alert, secret = null } = await alerts.create(tenant.id, wanted)
        const answer: CreatedAlertAnswer = { alert: await listed(alert, await segmentNames(tenant.id)), secret }
        return json(answer)
      },
    }),
    change('pause'),
    change('resume'),
    route({
      method: 'POST',
      path: `${PATH}/ask-again`,
      body: AlertBody,
      async handle({ tenant, session, body }) {
        await alerts.askAgain(await alerts.get(tenant.id, body.alert_id), makerOf(session))
        return json({})
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/remove`,
      body: AlertBody,
      async handle({ tenant, body }) {
        await alerts.remove(await alerts.get(tenant.id, body.alert_id))
        return json({})
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/test`,
      body: AlertBody,
      async handle({ tenant, session, body }) {
        const alert = await alertOf(tenant.id, body.alert_id)
        const answer: TestedAlertAnswer = { message_id: await alerts.test(alert, makerOf(session)) }
        return json(answer)
      },
    }),
    ...messageRoutes(parts),
  ]
}

/** Messages of alerts, with their attempts. */
function messageRoutes({ alerts, deliveries }: Pick<AlertDependencies, 'alerts' | 'deliveries'>): DashboardRoute[] {
  const messages = async (tenantId: string, found: readonly Delivery[]): Promise<ListedMessage[]> => {
    const [due, all] = await Promise.all([
      deliveries.dueTimes(found.filter(({ state }) => state === 'waiting')),
      alerts.records(tenantId),
    ])
    const byId = new Map(all.map((alert) => [alert.id, alert]))
    return found.map((delivery) => listedMessage(delivery, byId.get(delivery.alertId), due.get(delivery.id)))
  }
  return [
    route({
      method: 'GET',
      path: `${PATH}/messages`,
      query: MessagesQuery,
      async handle({ tenant, query: { state, alert: alertId, before } }) {
        const page = await deliveries.page(tenant.id, { before, limit: MESSAGES_PAGE, alertId, state })
        const { deliveries: found, next = null } = page
        const answer: MessagesAnswer = { messages: await messages(tenant.id, found), next }
        return json(answer)
      },
    }),
    // Cheap: a page polls this while it waits for the result of a test.
    route({
      method: 'GET',
      path: `${PATH}/messages/:message`,
      async handle({ tenant, parameters }) {
        const found = await deliveries.get(tenant.id, parameters.message!)
        if (found === undefined) throw new HttpError('not_found', 'there is no such message any more')
        const [message] = await messages(tenant.id, [found])
        const answer: MessageAnswer = { ...message!, body: found.body, all_attempts: found.attempts.map(listedAttempt) }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/messages/send-again`,
      body: SendAgainBody,
      async handle({ tenant, session, body }) {
        const sent = await alerts.sendAgain(tenant.id, body.message_id, makerOf(session))
        const [message] = await messages(tenant.id, [sent])
        return json(message)
      },
    }),
  ]
}

/** @throws InputError at a field when SMTP_URL is not set */
export function assertCanEmail(canEmail: boolean, field: string): void {
  if (!canEmail) throw new InputError('e-mail is not set up: set SMTP_URL and SMTP_FROM, and restart ipid', { field })
}

function listedAlert(
  { id, name, on, after_days, segment_id, to, target, digest, created_at, paused, unconfirmed }: FiringAlert,
  names: ReadonlyMap<string, string>,
  { fired, attempt }: AlertActivity,
  waiting: number,
): ListedAlert {
  return {
    ...{ alert_id: id, name, on, after_days: after_days ?? null },
    segment: segment_id === undefined ? null : { segment_id, name: names.get(segment_id) ?? null },
    ...{ to, target: to === 'email' ? target : hostOf(target), digest: digest ?? null, created_at },
    ...{ paused: paused ?? null, unconfirmed: unconfirmed ?? null, waiting },
    last_fired:
      fired === undefined
        ? null
        : { at: iso(fired.atMs), company_id: fired.companyId, company_name: fired.companyName || fired.companyId },
    last_attempt: attempt === undefined ? null : listedAttempt(attempt),
  }
}

function hostOf(target: string): string {
  return URL.canParse(target) ? new URL(target).host : target
}

function listedMessage(
  delivery: Delivery,
  alert: Pick<FiringAlert, 'paused'> | undefined,
  dueMs: number | undefined,
): ListedMessage {
  const { id, alertId, alertName, type, companyId, companyName, createdAtMs, state, attempts } = delivery
  const last = attempts.at(-1)
  return {
    ...{ message_id: id, alert_id: alertId, alert_name: alertName, type },
    alert_state: alert === undefined ? null : alert.paused === undefined ? 'on' : 'paused',
    ...{ company_id: companyId, company_name: companyName, created_at: iso(createdAtMs), state },
    attempts: attempts.length,
    last_attempt: last === undefined ? null : listedAttempt(last),
    next_attempt_at: dueMs === undefined ? null : iso(dueMs),
  }
}

export function listedAttempt({ atMs, tookMs, status, answer, error }: Attempt): DeliveryAttempt {
  return { at: iso(atMs), took_ms: tookMs, status: status ?? null, answer: answer ?? '', error: error ?? null }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
