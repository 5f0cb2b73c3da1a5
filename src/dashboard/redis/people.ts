import type { TenantRole } from '../../../schemas/dashboard/roles.ts'
import { InputError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { OidcAccount, Person, PersonStore, TenantOfPeople } from '../server/people.ts'

const answered = answeredOr('Redis does not keep the people of the dashboard now')

const setRoleScript = loadScript(import.meta.url, './setRole-1.lua')
const bindAccountScript = loadScript(import.meta.url, './bindAccount-1.lua')
const putPersonScript = loadScript(import.meta.url, './putPerson-2.lua')

/** Most people of a tenant: the script reads them all. */
const PEOPLE_MAX = 1_000

/** JSON of a person. The tenant's creation is in it: a tenant created again with the same name must not see them. */
interface PersonRecord {
  readonly name: string
  readonly email?: string
  readonly added_at: string
  readonly added_by?: string
  readonly added_by_id?: string
  /** Absent: an earlier version added them, and they could do everything. */
  readonly role?: TenantRole
  readonly oidc_issuer?: string
  readonly oidc_subject?: string
  readonly tenant_created_at: string
}

/** The members of tenants, in one hash for each tenant. Deleting the tenant deletes the hash; no script adds to it after the deletion began. */
export class RedisPersonStore implements PersonStore {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async putPerson(tenant: TenantOfPeople, person: Person, isKnown: boolean): Promise<string> {
    const { id, name, email, addedAt, addedBy, addedById, role } = person
    const record: PersonRecord = {
      ...{ name, added_at: addedAt, tenant_created_at: tenant.createdAt, role },
      ...(email !== undefined && { email }),
      ...(addedBy !== undefined && { added_by: addedBy }),
      ...(addedById !== undefined && { added_by_id: addedById }),
    }
    const args = [tenant.id, tenant.createdAt, id, JSON.stringify(record), isKnown ? 1 : 0, PEOPLE_MAX]
    const script = putPersonScript.run(this.#client, [keys.tenants(), keys.people(tenant.id)], args)
    const reply = await answered(script as Promise<Buffer | number>)
    if (reply === 0) throw new InputError(`unknown tenant ${JSON.stringify(tenant.id)}`)
    if (reply === -1) throw new InputError(`a tenant has at most ${PEOPLE_MAX} people: remove some first`)
    if (reply === -2) throw new InputError(`several people are called ${JSON.stringify(name)}: give the e-mail address`)
    await answered(persisted(this.#client))
    return String(reply)
  }

  async getPerson(tenant: TenantOfPeople, id: string): Promise<Person | undefined> {
    const json = await answered(this.#client.hget(keys.people(tenant.id), id))
    return json === null ? undefined : personOf(tenant, id, json)
  }

  async listPeople(tenant: TenantOfPeople): Promise<Person[]> {
    const all = await answered(this.#client.hgetall(keys.people(tenant.id)))
    return Object.entries(all).flatMap(([id, json]) => personOf(tenant, id, json) ?? [])
  }

  async setRole(tenant: TenantOfPeople, id: string, role: TenantRole): Promise<boolean> {
    const args = [id, tenant.createdAt, role]
    const changed = await answered(setRoleScript.run(this.#client, [keys.people(tenant.id)], args))
    await answered(persisted(this.#client))
    return changed === 1
  }

  async bindAccount(
    tenant: TenantOfPeople,
    id: string,
    email: string,
    { issuer, subject }: OidcAccount,
  ): Promise<boolean> {
    const args = [id, tenant.createdAt, email, issuer, subject]
    const bound = await answered(bindAccountScript.run(this.#client, [keys.people(tenant.id)], args))
    await answered(persisted(this.#client))
    return bound === 1
  }

  async removePerson(tenantId: string, id: string): Promise<boolean> {
    const removed = await answered(this.#client.hdel(keys.people(tenantId), id))
    await answered(persisted(this.#client))
    return removed === 1
  }
}

function personOf({ createdAt }: TenantOfPeople, id: string, json: string): Person | undefined {
  const record = JSON.parse(json) as PersonRecord
  if (record.tenant_created_at !== createdAt) return undefined
  const { name, email, added_at: addedAt, added_by: addedBy, added_by_id: addedById } = record
  const { oidc_issuer: issuer, oidc_subject: subject } = record
  return {
    ...{ id, name, addedAt, role: record.role ?? 'admin' },
    ...(email !== undefined && { email }),
    ...(addedBy !== undefined && { addedBy }),
    ...(addedById !== undefined && { addedById }),
    ...(issuer !== undefined && subject !== undefined && { account: { issuer, subject } }),
  }
}
