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
  PersonRoleBody,
} from '../../../../schemas/dashboard/people.ts'
import type { DashboardRole, TenantRole } from '../../../../schemas/dashboard/roles.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { Clock } from '../../../run/clock.ts'
import { InputError } from '../../../run/errors.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import type { Person } from '../people.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { makerOf, type Session, type Sessions, type SignIn, signInIdOf, signInUrl } from '../sessions.ts'
import type { SignInMails } from '../sign-in-mails.ts'
import { type MadeDependencies, madeOf } from './made.ts'

export interface PeopleDependencies extends MadeDependencies {
  readonly sessions: Pick<Sessions, 'list' | 'withdraw'>
  /** Public URL of the dashboard; undefined: the page uses its own address. */
  readonly publicUrl: string | undefined
  /** Undefined: SMTP_URL is not set. */
  readonly mails: Pick<SignInMails, 'invite'> | undefined
  /** Ends what is sent to the address of somebody who left. */
  readonly endMails: (tenantId: string, address: string) => Promise<unknown>
  readonly clock: Clock
}

const DAY_MS = 86_400_000

/** A new link, and the call that made it. */
interface Invited {
  readonly secret: string
  readonly days: number
  readonly session: Session
  readonly tenant: Tenant
}

interface Invitee {
  readonly email?: string
  readonly role?: TenantRole
}

/**
 * `/api/tenants/:tenant/people`: people, their roles and sessions, and invitations, for admins. They get a link for themselves, but for no
 * other person of the list, because they could act as them. Only operators see and end sessions of operators.
 */
export function peopleRoutes(parts: PeopleDependencies): DashboardRoute[] {
  const { people, sessions, admin, publicUrl, mails, endMails, clock } = parts
  const ofTenant = async ({ id, createdAt }: Tenant) =>
    (await sessions.list(id)).filter(({ grant }) => grant.tenant?.createdAt === createdAt)
  const ofOperators = async ({ role }: Session) => (role === 'operator' ? await sessions.list(undefined) : [])
  const ofAllTenants = async () =>
    (await Promise.all((await admin.listTenants()).map(({ id }) => sessions.list(id)))).flat()
  const answerOf = async (
    { secret, days, session, tenant: { id } }: Invited,
    { email, role = 'admin' }: Invitee,
  ): Promise<InviteAnswer> => {
    const expiresAt = new Date(clock.now() + days * DAY_MS)
    const address = mails === undefined || email === undefined ? undefined : email.trim()
    const invitation = { tenantId: id, by: session.name, role, secret, expiresAt }
    const problem = address && (await mails!.invite({ ...invitation, address }))
    return {
      url: signInUrl(publicUrl ?? '', secret),
      expires_at: expiresAt.toISOString(),
      mailed_to: (problem === undefined && address) || null,
      mail_problem: problem || null,
    }
  }
  const ended = (count: number) => json({ ended: count } satisfies EndedAnswer)
  return [
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/people',
      access: 'admin',
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
          can_email: mails !== undefined,
        }
        return json(answer)
      },
    }),
    route({
      method: 'GET',
      path: '/api/tenants/:tenant/people/made',
      access: 'admin',
      query: MadeQuery,
      handle: async ({ tenant, query }) => json(await madeOf(parts, tenant, query.maker, await ofTenant(tenant))),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/invite',
      access: 'admin',
      body: InviteBody,
      async handle({ tenant, session, body: { days, ...person } }) {
        const invitation = {
          ...person,
          by: makerOf(session),
          validMs: days * DAY_MS,
          isNew: session.role !== 'operator',
        }
        const secret = await people.invite(tenantOf(tenant), invitation)
        return json(await answerOf({ secret, days, session, tenant }, person))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/link',
      access: 'admin',
      body: PersonLinkBody,
      async handle({ tenant, session, body: { person, days } }) {
        if (session.role !== 'operator' && session.personId !== person) {
          throw new HttpError('forbidden', 'only an operator makes a sign-in link for another person')
        }
        const validity = { by: makerOf(session), validMs: days * DAY_MS }
        const { secret, person: invited } = await people.inviteAgain(tenantOf(tenant), person, validity)
        return json(await answerOf({ secret, days, session, tenant }, invited))
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/role',
      access: 'admin',
      body: PersonRoleBody,
      async handle({ tenant, session, body: { person, role } }) {
        // So a workspace that has an admin keeps one.
        if (session.personId === person)
          throw new HttpError('forbidden', 'nobody changes their own role: ask another admin')
        await people.setRole(tenantOf(tenant), person, role)
        return json({})
      },
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/end',
      access: 'admin',
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
      access: 'admin',
      body: PersonBody,
      handle: async ({ tenant, body }) => ended(await people.signOut(tenantOf(tenant), body.person)),
    }),
    route({
      method: 'POST',
      path: '/api/tenants/:tenant/people/remove',
      access: 'admin',
      body: PersonBody,
      async handle({ tenant, body: { person: id } }) {
        const email = (await people.list(tenant)).find((person) => person.id === id)?.email
        // First: after a crash in between, the person is still on the list, and the removal can be repeated.
        if (email !== undefined) await endMails(tenant.id, email)
        return ended(await people.remove(tenantOf(tenant), id))
      },
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
    role: person?.role ?? tenantRole(signIns[0]!.grant.role),
    ...{ id, name, email, added_at: person?.addedAt ?? null, added_by: person?.addedBy ?? null },
    invitations: signIns.flatMap((signIn) =>
      signIn.kind === 'link' && !signIn.grant.isAsked
        ? [{ id: signInIdOf(signIn.digest), expires_at: iso(signIn.endsMs)! }]
        : [],
    ),
    sessions: sessions.sort((a, b) => ((a.last_used_at ?? '') > (b.last_used_at ?? '') ? -1 : 1)),
  }
}

function tenantRole(role: DashboardRole): TenantRole | null {
  return role === 'operator' ? null : role
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
