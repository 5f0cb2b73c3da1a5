import type { Maker } from '../../../schemas/maker.ts'
import type { Clock } from '../../run/clock.ts'
import { readDisplayName } from '../../run/display-name.ts'
import { InputError } from '../../run/errors.ts'
import type { PersonStore, TenantOfPeople } from '../server/people.ts'
import { digestOf, isSecret, newSecret, personOfMaker, signInIdOf } from '../server/sessions.ts'
import type { RedisSharedLinks, SharedLink } from './redis/link-store.ts'

/** A new link, as a person describes it. */
export type NewSharedLink = Pick<SharedLink, 'name' | 'target' | 'columns' | 'sort' | 'direction'> & {
  readonly by: Maker
  /** Whole days until it expires; null: never. */
  readonly days: number | null
}

const NAME_MAX_CHARS = 80
const DAY_MS = 86_400_000

/** Shared links of tenants. A link works until it expires, is revoked, or the person who made it is removed. */
export class SharedLinks {
  readonly #store: RedisSharedLinks
  readonly #people: Pick<PersonStore, 'getPerson'>
  readonly #clock: Clock

  constructor(store: RedisSharedLinks, people: Pick<PersonStore, 'getPerson'>, clock: Clock) {
    this.#store = store
    this.#people = people
    this.#clock = clock
  }

  /**
   * Returns the secret of the link, which is stored nowhere.
   * @throws InputError when the name is invalid, the tenant is gone, or has too many links
   */
  async create(tenant: TenantOfPeople, { by, days, name, ...facts }: NewSharedLink) {
    const secret = newSecret()
    const nowMs = this.#clock.now()
    const link: SharedLink = {
      ...facts,
      name: readDisplayName(name, 'the title of a shared link', NAME_MAX_CHARS, 'name'),
      digest: digestOf(secret),
      made_by: by,
      created_at: new Date(nowMs).toISOString(),
      expires_at: days === null ? null : new Date(nowMs + days * DAY_MS).toISOString(),
      lastUsedMs: undefined,
    }
    await this.#store.put(tenant, link)
    return { secret, link }
  }

  /** The links that work, newest first. Those of removed people are forgotten here. */
  async list(tenant: TenantOfPeople): Promise<SharedLink[]> {
    const found: SharedLink[] = []
    for (const link of await this.#store.list(tenant)) {
      if (await this.#works(tenant, link)) found.push(link)
      else await this.#store.remove(tenant, link.digest)
    }
    return found.sort((a, b) => (a.created_at > b.created_at ? -1 : 1))
  }

  /** The link of a secret, if it works. */
  async find(tenant: TenantOfPeople, secret: string): Promise<SharedLink | undefined> {
    if (!isSecret(secret)) return undefined
    const link = await this.#store.get(tenant, digestOf(secret))
    return link !== undefined && (await this.#works(tenant, link)) ? link : undefined
  }

  /** Notes that somebody opened the link. */
  async used(tenant: TenantOfPeople, { digest }: SharedLink): Promise<void> {
    await this.#store.noteUse(tenant, digest, this.#clock.now())
  }

  /** @param id see `idOf` @throws InputError when there is no such link */
  async revoke(tenant: TenantOfPeople, id: string): Promise<void> {
    const link = (await this.#store.list(tenant)).find((one) => idOf(one) === id)
    if (link === undefined) throw new InputError('this link has ended already: reload the page')
    await this.#store.remove(tenant, link.digest)
  }

  async #works(tenant: TenantOfPeople, { expires_at, made_by }: SharedLink): Promise<boolean> {
    if (expires_at !== null && Date.parse(expires_at) <= this.#clock.now()) return false
    const person = personOfMaker(made_by.id)
    return person === undefined || (await this.#people.getPerson(tenant, person)) !== undefined
  }
}

/** Identifies a link in lists. It reveals neither the secret nor its digest. */
export function idOf({ digest }: Pick<SharedLink, 'digest'>): string {
  return signInIdOf(digest)
}

/** URL of a shared link. @param dashboardUrl public URL of the dashboard; `''` makes the link relative */
export function sharedUrl(dashboardUrl: string, tenantId: string, secret: string): string {
  return `${dashboardUrl.replace(/\/$/, '')}/shared/${tenantId}/${secret}`
}
