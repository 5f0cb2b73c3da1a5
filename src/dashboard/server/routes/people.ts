import {
  type EndedAnswer,
  EndSignInBody,
  type InviteAnswer,
  InviteBody,
  type ListedPerson,
  type ListedSession,
  MadeQuery,
  type PeopleAnswer,
  PersonBody,
  PersonLinkBody,
} from '../../../../schemas/dashboard/people.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { Clock } from '../../../run/clock.ts'
import { InputError } from '../../../run/errors.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { Person } from '../people.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf, type Session, type Sessions, type SignIn, signInIdOf, signInUrl } from '../sessions.ts'
import { type MadeDependencies, madeOf } from './made.ts'

export interface PeopleDependencies extends MadeDependencies {
  readonly sessions: Pick<Sessions, 'list' | 'withdraw'>
  /** Public URL of the dashboard; undefined: the page uses its own address. */
  readonly publicUrl: string | undefined
  readonly clock: Clock
}

const DAY_MS = 86_400_000

/**
 * `/api/tenants/:tenant/people`: members, their sessions, and invitations. Members may invite and remove each other: they make keys
 * already, which grant more. They get a link for themselves, but for no other person of the list, because they could act as them.
 * Only operators see and end sessions of operators.
 */
export function peopleRoutes(parts: PeopleDependencies): DashboardRoute[] {
  const { people, sessions, admin, publicUrl, clock } = parts
  const ofTenant = async ({ id, createdAt }: Tenant) =>
    (await sessions.list(id)).filter(({ grant }) => grant.tenant?.createdAt === createdAt)
  const ofOperators = async ({ role }: Session) => (role === 'operator' ? await sessions.list(undefined) : [])
  const ofAllTenants = async () =>
    (await Promise.all((await admin.listTenants()).map(({ id }) => sessions.list(id)))).flat()
  const answerOf = (secret: string, days: number): InviteAnswer => ({
    url: signInUrl(publicUrl ?? '', secret),
    expires_at: new Date(clock.now() + days * DAY_MS).toISOString(),
  })
  const ended = (count: number) => json({ ended: count } satisfies EndedAnswer)
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/people',
      async handle({ tenant, session }) {
        const [known, found, operators] = await Promise.all([
          people.list(tenant),
          ofTenant(tenant),
          ofOperators(session),
        ])
        const isOf = ({ id }: Person) => found.filter(({ grant }) => grant.personId === id)
        const unnamed = found.filter(({ grant }) => grant.personId === undefined)
        const answer: PeopleAnswer = {
          people: [
            ...known.map((person) => listed(person, isOf(person), session)),
            ...unnamed.map((signIn) => listed(undefined, [signIn], session)),
          ],
          operators: operators.map((signIn) => listed(undefined, [signIn], session)),
        }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/people/made',
      query: MadeQuery,
      handle: async ({ tenant, query }) => json(await madeOf(parts, tenant, query.maker, await ofTenant(tenant))),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/invite',
      body: InviteBody,
      async handle({ tenant, session, body: { days, ...person } }) {
        const invitation = {
          ...person,
          by: makerOf(session),
          validMs: days * DAY_MS,
          isNew: session.role !== 'operator',
        }
        return json(answerOf(await people.invite(tenantOf(tenant), invitation), days))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/link',
      body: PersonLinkBody,
      async handle({ tenant, session, body: { person, days } }) {
        if (session.role !== 'operator' && session.personId !== person) {
          throw new HttpError(403, 'only an operator makes a sign-in link for another person')
        }
        const validity = { by: makerOf(session), validMs: days * DAY_MS }
        return json(answerOf(await people.inviteAgain(tenantOf(tenant), person, validity), days))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/end',
      body: EndSignInBody,
      async handle({ tenant, session, body: { id } }) {
        const all = [...(await ofTenant(tenant)), ...(await ofOperators(session))]
        const found = all.find(({ digest }) => signInIdOf(digest) === id)
        if (found === undefined) throw new InputError('it has ended already: reload the page')
        return ended(await people.end(found, found.grant.role === 'operator' ? await ofAllTenants() : all))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/sign-out',
      body: PersonBody,
      handle: async ({ tenant, body }) => ended(await people.signOut(tenantOf(tenant), body.person)),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/remove',
      body: PersonBody,
      handle: async ({ tenant, body }) => ended(await people.remove(tenantOf(tenant), body.person)),
    }),
  ]
}

function tenantOf({ id, createdAt }: Tenant) {
  return { id, createdAt }
}

/** @param person undefined: a link or session without one */
function listed(person: Person | undefined, signIns: readonly SignIn[], session: Session): ListedPerson {
  const { id = null, name = signIns[0]?.grant.name ?? null, email = null } = person ?? {}
  const sessions = signIns.flatMap((signIn) => (signIn.kind === 'session' ? [listedSession(signIn, session)] : []))
  return {
    ...{ id, name, email, added_at: person?.addedAt ?? null, added_by: person?.addedBy ?? null },
    invitations: signIns.flatMap((signIn) =>
      signIn.kind === 'link' ? [{ id: signInIdOf(signIn.digest), expires_at: iso(signIn.endsMs)! }] : [],
    ),
    sessions: sessions.sort((a, b) => ((a.last_used_at ?? '') > (b.last_used_at ?? '') ? -1 : 1)),
  }
}

function listedSession({ digest, grant }: SignIn & { readonly kind: 'session' }, session: Session): ListedSession {
  return {
    ...{ id: signInIdOf(digest), device: grant.device ?? null },
    ...{ signed_in_at: iso(grant.startedMs), last_used_at: iso(grant.usedMs), is_current: digest === session.id },
  }
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}
