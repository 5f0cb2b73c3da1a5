import { randomBytes } from 'node:crypto'
import { EMAIL_CHARS_MAX, NAME_CHARS_MAX } from '../../../schemas/dashboard/limits.ts'
import { DASHBOARD_ROLES, type DashboardRole, type TenantRole } from '../../../schemas/dashboard/roles.ts'
import type { Maker } from '../../../schemas/maker.ts'
import { isReservedName } from '../../run/authors.ts'
import type { Clock } from '../../run/clock.ts'
import { readDisplayName } from '../../run/display-name.ts'
import { InputError } from '../../run/errors.ts'
import type { TenantStore } from '../../tenants/stores.ts'
import { type Grant, makerIdOf, personMaker, personOfMaker, type Sessions, type SignIn } from './sessions.ts'

/** A member of a tenant. */
export interface Person {
  readonly id: string
  readonly name: string
  /** In lower case. Recognises the person when they are invited again. */
  readonly email?: string
  readonly role: TenantRole
  /** First invitation or sign-in, ISO 8601. */
  readonly addedAt: string
  /** Id of the maker who invited the person, or made the nameless link of their first sign-in; undefined: unknown. */
  readonly addedBy?: string
  /** Their maker id, see `makerOf`; undefined: the command line, or an earlier version. */
  readonly addedById?: string
  /** The account at a provider of OpenID Connect that the person signed in with. */
  readonly account?: OidcAccount
}

/** An account at a provider of OpenID Connect, which never belongs to another person later (OpenID Connect Core 1.0, 2). */
export interface OidcAccount {
  readonly issuer: string
  readonly subject: string
}

/** A person, and the tenant whose list has them. */
export interface PersonOfTenant {
  readonly tenant: TenantOfPeople
  readonly person: Person
}

/** A tenant, as opposed to one with the same name that was deleted. */
export type TenantOfPeople = NonNullable<Grant['tenant']>

/** Rejects with `UnavailableError`. */
export interface PersonStore {
  /**
   * Adds a person. With `isKnown`, takes the person with the same e-mail address, or with the same name where no address is given, and
   * gives them the new name; their role stays. Returns the person's id.
   * @throws InputError when the tenant is gone, the list is full, or several people have the name
   */
  putPerson(tenant: TenantOfPeople, person: Person, isKnown: boolean): Promise<string>
  getPerson(tenant: TenantOfPeople, id: string): Promise<Person | undefined>
  /** In any order. */
  listPeople(tenant: TenantOfPeople): Promise<Person[]>
  /** Whether the person exists. */
  setRole(tenant: TenantOfPeople, id: string, role: TenantRole): Promise<boolean>
  /**
   * Ties a person with this e-mail address to an account, in place of one of another issuer.
   * @returns whether they are tied: false when the person is gone or has another address, has another account of the issuer, or when
   *   another person of the tenant has the account
   */
  bindAccount(tenant: TenantOfPeople, id: string, email: string, account: OidcAccount): Promise<boolean>
  /** Whether the person existed. */
  removePerson(tenantId: string, id: string): Promise<boolean>
}

/** Facts of an invitation. Name and address are as typed. */
export interface Invitation {
  /** Default: the e-mail address; without one, the link asks for a name. */
  readonly name?: string
  readonly email?: string
  /** Of a new person. Default: `admin`. */
  readonly role?: TenantRole
  /** The inviting user; without an id: a user of the command line. */
  readonly by: Pick<Maker, 'name'> & Partial<Maker>
  /** Whether it must not be a person of the list: with a link to their account, another member could act as them. Default: false. */
  readonly isNew?: boolean
  /** Validity of the link. */
  readonly validMs: number
}

/** Most workspaces that a person may choose from when they sign in. */
const WORKSPACES_MAX = 20

/**
 * Finds a person in each tenant, at most 20.
 * @param pick the person among all people of a tenant; undefined: none
 */
export async function findPeople(
  tenants: Pick<TenantStore, 'listTenants'>,
  people: Pick<PersonStore, 'listPeople'>,
  pick: (all: readonly Person[]) => Person | undefined,
): Promise<PersonOfTenant[]> {
  const found: PersonOfTenant[] = []
  for (const { id, createdAt, deleting } of await tenants.listTenants()) {
    if (deleting) continue
    const tenant = { id, createdAt }
    const person = pick(await people.listPeople(tenant))
    if (person !== undefined) found.push({ tenant, person })
    if (found.length === WORKSPACES_MAX) break
  }
  return found
}

/** A link for a person who asks to sign in. */
export interface AskedLink extends PersonOfTenant {
  readonly secret: string
}

/**
 * Makes a link for each workspace of a person who asks to sign in. One that has no room for it is left out.
 * @throws InputError when none has room
 */
export async function askedLinks(
  sessions: Pick<Sessions, 'createLink'>,
  found: readonly PersonOfTenant[],
  validMs: number,
): Promise<AskedLink[]> {
  const links: AskedLink[] = []
  let refusal: InputError | undefined
  for (const { tenant, person } of found) {
    try {
      const grant = { role: person.role, tenant, personId: person.id, isAsked: true } as const
      links.push({ tenant, person, secret: await sessions.createLink(grant, validMs) })
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      refusal = error
    }
  }
  if (links.length === 0 && refusal !== undefined) throw refusal
  return links
}

/** Names of the people of a link; undefined: not known. */
interface NamesOfLink {
  readonly maker: string | undefined
  readonly person: string | undefined
}

/** An author without a name has the role as one, see `authorOf`. */
const isRole = (name: string) => (DASHBOARD_ROLES as readonly string[]).includes(name)

/** The members of tenants: their names, and links that invite them. */
export class People {
  readonly #store: PersonStore
  readonly #sessions: Sessions
  readonly #clock: Clock

  constructor(store: PersonStore, sessions: Sessions, clock: Clock) {
    this.#store = store
    this.#sessions = sessions
    this.#clock = clock
  }

  /**
   * Creates a sign-in link for a person, and returns its secret. Earlier links of a known person end.
   * @throws InputError when name or address are invalid, or as `PersonStore.putPerson`
   */
  async invite(
    tenant: TenantOfPeople,
    { name, email, role = 'admin', by, validMs, isNew = false }: Invitation,
  ): Promise<string> {
    const address = email === undefined ? undefined : validEmail(email)
    const called = name === undefined ? address : validName(name)
    const grant = { role, tenant, ...(by.id !== undefined && { madeBy: by.id }) }
    if (called === undefined) return await this.#sessions.createLink(grant, validMs)
    const person = {
      ...this.#added(called, role),
      ...(address !== undefined && { email: address }),
      ...{ addedBy: by.name, ...(by.id !== undefined && { addedById: by.id }) },
    }
    if (isNew && (await this.#isListed(tenant, person))) {
      throw new InputError(
        `${called} is on the list already. Only an operator makes a new link for them; or remove them, then invite them again`,
      )
    }
    return await this.#link(grant, await this.#store.putPerson(tenant, person, !isNew), validMs)
  }

  /** Like `invite`, for a person of the list. @throws InputError when there is no such person */
  async inviteAgain(tenant: TenantOfPeople, id: string, { by, validMs }: Pick<Invitation, 'by' | 'validMs'>) {
    const person = await this.#store.getPerson(tenant, id)
    if (person === undefined) throw unknownPerson()
    const grant = { role: person.role, tenant, ...(by.id !== undefined && { madeBy: by.id }) }
    return { secret: await this.#link(grant, id, validMs), person }
  }

  /**
   * Adds the user of a link without a person. Giving the name of a listed person adds another person.
   * @param grant of the link
   * @returns the id
   */
  async introduce(tenant: TenantOfPeople, name: string, { role, madeBy }: Pick<Grant, 'role' | 'madeBy'>) {
    const maker = personOfMaker(madeBy)
    const by = maker === undefined ? undefined : await this.#store.getPerson(tenant, maker)
    const added = { ...(by && { addedBy: by.name }), ...(madeBy !== undefined && { addedById: madeBy }) }
    return await this.#store.putPerson(tenant, { ...this.#added(validName(name), role), ...added }, false)
  }

  /** The names of the person who made a link of a tenant, and of the person whom it is for. */
  async namesOf(
    tenant: TenantOfPeople,
    { personId, madeBy }: Pick<Grant, 'personId' | 'madeBy'>,
  ): Promise<NamesOfLink> {
    const maker = personOfMaker(madeBy)
    const [by, person] = await Promise.all(
      [maker, personId].map((id) => (id === undefined ? undefined : this.#store.getPerson(tenant, id))),
    )
    // An operator is on no list of people, but the list has the name of the operator who added a person.
    const added = person?.addedById === madeBy ? person?.addedBy : undefined
    return { maker: by?.name ?? (added !== undefined && isRole(added) ? undefined : added), person: person?.name }
  }

  /** By name. */
  async list(tenant: TenantOfPeople): Promise<Person[]> {
    const all = await this.#store.listPeople(tenant)
    return all.sort((a, b) => a.name.localeCompare(b.name, 'en') || (a.id < b.id ? -1 : 1))
  }

  /** Ends unopened links that the person made, unless the new role is admin. @throws InputError when there is no such person */
  async setRole(tenant: TenantOfPeople, id: string, role: TenantRole): Promise<void> {
    if (!(await this.#store.setRole(tenant, id, role))) throw unknownPerson()
    if (role === 'admin') return
    const made = madeBy(personMaker(id), await this.#sessions.list(tenant.id))
    await Promise.all(made.map((found) => this.#sessions.end(found)))
  }

  /** Ends the links and sessions of a person, and links that they made. Returns how many. */
  async signOut(tenant: TenantOfPeople, id: string): Promise<number> {
    const own = await this.#signInsOf(tenant, id)
    const ended = await Promise.all(own.map((found) => this.#sessions.end(found)))
    return ended.filter(Boolean).length
  }

  /** Forgets a person, which ends their links and sessions, and links that they made. Returns how many. @throws InputError when there is no such person */
  async remove(tenant: TenantOfPeople, id: string): Promise<number> {
    const own = await this.#signInsOf(tenant, id)
    // Their links and sessions stop working here. The rest only removes the records.
    if (!(await this.#store.removePerson(tenant.id, id))) throw unknownPerson()
    await Promise.all(own.map((found) => this.#sessions.end(found)))
    return own.length
  }

  /** Ends a link, or a session and, if it has no person, the links that it made. Returns how many. */
  async end(signIn: SignIn, all: readonly SignIn[]): Promise<number> {
    const { kind, grant } = signIn
    const ended = await this.#sessions.end(signIn)
    const made = kind === 'session' && grant.personId === undefined ? madeBy(makerIdOf(signIn), all) : []
    const links = await Promise.all(made.filter((other) => other !== signIn).map((link) => this.#sessions.end(link)))
    return [ended, ...links].filter(Boolean).length
  }

  /** Whether an invitation names a person of the list: by address, or by name without one. */
  async #isListed(tenant: TenantOfPeople, { name, email }: Pick<Person, 'name' | 'email'>): Promise<boolean> {
    const all = await this.#store.listPeople(tenant)
    return all.some((person) => (email === undefined ? person.name === name : person.email === email))
  }

  async #link(grant: Grant & { readonly tenant: TenantOfPeople }, personId: string, validMs: number): Promise<string> {
    const all = await this.#sessions.list(grant.tenant.id)
    const links = all.filter((found) => found.kind === 'link' && found.grant.personId === personId)
    await Promise.all(links.map((link) => this.#sessions.end(link)))
    return await this.#sessions.createLink({ ...grant, personId }, validMs)
  }

  /** The records that end with a person. */
  async #signInsOf(tenant: TenantOfPeople, personId: string): Promise<SignIn[]> {
    const all = await this.#sessions.list(tenant.id)
    return [...all.filter(({ grant }) => grant.personId === personId), ...madeBy(personMaker(personId), all)]
  }

  #added(name: string, role: DashboardRole): Person {
    // A link of a tenant never has the role of an operator.
    const own = role === 'operator' ? 'admin' : role
    return { id: randomBytes(8).toString('hex'), name, role: own, addedAt: new Date(this.#clock.now()).toISOString() }
  }
}

/** Links that a maker made, and sessions without a person of theirs, except those of a maker's own person. */
function madeBy(makerId: string, all: readonly SignIn[]): SignIn[] {
  return all.filter(({ kind, grant: { madeBy: by, personId } }) => {
    const isOwn = personId !== undefined && personMaker(personId) === makerId
    return by === makerId && !isOwn && (kind === 'link' || personId === undefined)
  })
}

function unknownPerson(): InputError {
  return new InputError('this person is not on the list any more: reload the page')
}

/** @throws InputError */
export function validName(text: string): string {
  const name = readDisplayName(text, "a person's name", NAME_CHARS_MAX).replace(/\s+/g, ' ')
  if (isReservedName(name)) throw new InputError(`"${name}" is a name that ipid itself uses: choose another one`)
  return name
}

function validEmail(text: string): string {
  const email = text.trim().toLowerCase()
  if (email.length > EMAIL_CHARS_MAX || !/^[^\s@\p{Cc}\p{Cf}]+@[^\s@\p{Cc}\p{Cf}]+$/u.test(email))
    throw new InputError(`email: ${JSON.stringify(text)} is no e-mail address like ada@example.com`)
  return email
}
