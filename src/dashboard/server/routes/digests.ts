import {
  DigestBody,
  type DigestsAnswer,
  type ListedDigest,
  SubscribeBody,
} from '../../../../schemas/dashboard/digests.ts'
import type { ReadWeek } from '../../../alerts/digests/week.ts'
import { type Digest, isDigest } from '../../../alerts/redis/alert-store.ts'
import { nextDue } from '../../../exports/schedule.ts'
import type { Clock } from '../../../run/clock.ts'
import { InputError } from '../../../run/errors.ts'
import { type Tenant, zoneOfTenant } from '../../../tenants/tenancy.ts'
import type { PersonStore } from '../people.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf } from '../sessions.ts'
import { type AlertDependencies, assertCanEmail, listedAttempt } from './alerts.ts'

export interface DigestDependencies
  extends Pick<AlertDependencies, 'alerts' | 'alertActivity' | 'deliveries' | 'segments' | 'canEmail'> {
  readonly readWeek: ReadWeek
  readonly persons: Pick<PersonStore, 'getPerson'>
  readonly clock: Clock
}

const PATH = '/api/tenants/:tenant/digests'

/** Subscriptions to the digest (src/alerts/README.md, Digest). */
export function digestRoutes(parts: DigestDependencies): DashboardRoute[] {
  const { alerts, alertActivity, deliveries, segments, canEmail, readWeek, persons, clock } = parts
  const listed = async (tenant: Tenant, digest: Digest, names: ReadonlyMap<string, string>): Promise<ListedDigest> => {
    const { id, target, every, at, segment_id, sends_empty, paused, unconfirmed } = digest
    const [{ attempt }, waiting] = await Promise.all([alertActivity.activity(id), deliveries.waitingOf(id)])
    return {
      ...{ digest_id: id, address: target, every, at },
      segment: segment_id === undefined ? null : { segment_id, name: names.get(segment_id) ?? null },
      ...{ sends_empty: sends_empty === true, paused: paused ?? null, unconfirmed: unconfirmed ?? null, waiting },
      next_at: paused === undefined ? new Date(nextDue(digest, clock.now(), zoneOfTenant(tenant))).toISOString() : null,
      last_attempt: attempt === undefined ? null : listedAttempt(attempt),
    }
  }
  const segmentNames = async (tenantId: string) =>
    new Map((await segments.list(tenantId)).map(({ id, name }) => [id, name]))
  const digestOf = async (tenantId: string, id: string): Promise<Digest> => {
    const found = await alerts.get(tenantId, id)
    if (isDigest(found)) return found
    throw new InputError('this is no subscription to the digest')
  }
  return [
    route({
      method: 'GET',
      path: PATH,
      async handle({ tenant, session }) {
        const [found, names] = await Promise.all([alerts.digests(tenant.id), segmentNames(tenant.id)])
        const { personId } = session
        const person = personId === undefined ? undefined : await persons.getPerson(tenant, personId)
        const answer: DigestsAnswer = {
          digests: await Promise.all(found.map((digest) => listed(tenant, digest, names))),
          ...{ can_email: canEmail, own_address: person?.email ?? null },
        }
        return json(answer)
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      body: SubscribeBody,
      async handle({ tenant, session, body: { address, every, at, segment_id: id, sends_empty: sendsEmpty } }) {
        assertCanEmail(canEmail, 'address')
        const segment = id === undefined ? undefined : (await segments.existing(tenant.id, id)).name
        const wanted = { address, every, at, segment, sendsEmpty, madeBy: makerOf(session) }
        return json(await listed(tenant, await alerts.subscribe(tenant.id, wanted), await segmentNames(tenant.id)))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/send`,
      body: DigestBody,
      async handle({ tenant, session, body }) {
        await alerts.sendDigest(await digestOf(tenant.id, body.digest_id), readWeek, makerOf(session))
        return json({})
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/ask-again`,
      body: DigestBody,
      async handle({ tenant, session, body }) {
        await alerts.askAgain(await digestOf(tenant.id, body.digest_id), makerOf(session))
        return json({})
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/remove`,
      body: DigestBody,
      async handle({ tenant, body }) {
        await alerts.remove(await digestOf(tenant.id, body.digest_id))
        return json({})
      },
    }),
  ]
}
