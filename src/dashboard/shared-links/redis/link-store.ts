import type { CompanySort } from '../../../../schemas/companies.ts'
import type { SharedColumn } from '../../../../schemas/dashboard/shared-columns.ts'
import type { Maker } from '../../../../schemas/maker.ts'
import { InputError } from '../../../run/errors.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { answeredOr } from '../../../stores/redis/errors.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'
import type { TenantOfPeople } from '../../server/people.ts'

const answered = answeredOr('Redis does not keep shared links now')
const putScript = loadScript(import.meta.url, './putSharedLink-2.lua')

/** Most links of a tenant: the script reads them all. */
const LINKS_MAX = 200

/** The companies of a shared link. */
export type SharedTarget =
  | { readonly segment_id: string }
  /** A filter as text. */
  | { readonly where: string }
  | { readonly company_id: string }

/** A link to a list or a company for people without an account. */
export interface SharedLink {
  /** SHA-256 of its secret. */
  readonly digest: string
  /** The title that receivers see. */
  readonly name: string
  readonly target: SharedTarget
  /** Columns beside the name. */
  readonly columns: readonly SharedColumn[]
  readonly sort?: CompanySort | undefined
  readonly direction?: 'asc' | 'desc' | undefined
  readonly made_by: Maker
  /** ISO 8601. */
  readonly created_at: string
  /** ISO 8601; null: it works until it is revoked. */
  readonly expires_at: string | null
  readonly lastUsedMs: number | undefined
}

/** Its creation is in it: a tenant created again with the same name must not have the links of the former one. */
type LinkRecord = Omit<SharedLink, 'digest' | 'lastUsedMs'> & { readonly tenant_created_at: string }

/** Shared links in one hash for each tenant, under the digests of their secrets. Every call rejects with `UnavailableError` when Redis is down. */
export class RedisSharedLinks {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  /** @throws InputError when the tenant is gone, or has too many links */
  async put(tenant: TenantOfPeople, { digest, lastUsedMs: _, ...link }: SharedLink): Promise<void> {
    const record: LinkRecord = { ...link, tenant_created_at: tenant.createdAt }
    const args = [tenant.id, tenant.createdAt, digest, JSON.stringify(record), LINKS_MAX, link.created_at]
    const reply = await answered(putScript.run(this.#client, [keys.tenants(), keys.sharedLinks(tenant.id)], args))
    if (reply === 0) throw new InputError(`unknown tenant ${JSON.stringify(tenant.id)}`)
    if (reply === -1) throw new InputError(`a tenant has at most ${LINKS_MAX} shared links: revoke some first`)
  }

  async get(tenant: TenantOfPeople, digest: string): Promise<SharedLink | undefined> {
    const json = await answered(this.#client.hget(keys.sharedLinks(tenant.id), digest))
    return json === null ? undefined : linkOf(tenant, digest, json, undefined)
  }

  /** In any order. */
  async list(tenant: TenantOfPeople): Promise<SharedLink[]> {
    const [all, uses] = await Promise.all([
      answered(this.#client.hgetall(keys.sharedLinks(tenant.id))),
      answered(this.#client.hgetall(keys.sharedLinkUses(tenant.id))),
    ])
    return Object.entries(all).flatMap(([digest, json]) => linkOf(tenant, digest, json, uses[digest]) ?? [])
  }

  async noteUse({ id }: TenantOfPeople, digest: string, atMs: number): Promise<void> {
    await answered(this.#client.hset(keys.sharedLinkUses(id), digest, atMs))
  }

  async remove({ id }: TenantOfPeople, digest: string): Promise<void> {
    await answered(this.#client.hdel(keys.sharedLinks(id), digest))
    await answered(this.#client.hdel(keys.sharedLinkUses(id), digest))
  }
}

function linkOf(
  { createdAt }: TenantOfPeople,
  digest: string,
  json: string,
  used: string | undefined,
): SharedLink | undefined {
  const { tenant_created_at, ...link } = JSON.parse(json) as LinkRecord
  return tenant_created_at === createdAt
    ? { ...link, digest, lastUsedMs: used === undefined ? undefined : Number(used) }
    : undefined
}
