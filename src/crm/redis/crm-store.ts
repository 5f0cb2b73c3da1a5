import type { CrmRecord, CrmRefusal, CrmRun } from '../../../schemas/crm.ts'
import { HUBSPOT } from '../../run/authors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import { loadScript } from '../../stores/redis/scripts.ts'

const writeScript = loadScript(import.meta.url, './writeCrm-3.lua')
const settleScript = loadScript(import.meta.url, './settleCrm-5.lua', { using: '../../stores/redis/members.lua' })

/** The connection of a tenant. */
export interface Connection extends CrmRecord {
  readonly tenantId: string
}

/** The results of a connection so far. */
export interface CrmState {
  /** No run before this time unless a person requests one, milliseconds. */
  readonly nextAtMs: number
  /** The last request that was answered, milliseconds; 0: none. */
  readonly askedMs: number
  /** Runs that failed since the last complete one. */
  readonly failures: number
  /** Begin of the run in progress, or of one whose process was killed, milliseconds. */
  readonly runningSinceMs?: number | undefined
  /** Newest first. */
  readonly runs: readonly CrmRun[]
  /** Of the last run. */
  readonly refused: readonly CrmRefusal[]
}

const UNREACHABLE = 'the store of connections to a CRM does not answer'
const NO_STATE: CrmState = { nextAtMs: 0, askedMs: 0, failures: 0, runs: [], refused: [] }

/** Connections to CRMs, in Redis. Every call rejects with `UnavailableError` when Redis is down. */
export class RedisCrm {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async all(): Promise<Connection[]> {
    const found = await orUnavailable(this.#client.hgetall(keys.crmConnections()), UNREACHABLE)
    return Object.entries(found).map(([tenantId, json]) => ({ ...(JSON.parse(json) as CrmRecord), tenantId }))
  }

  async get(tenantId: string): Promise<Connection | undefined> {
    const json = await orUnavailable(this.#client.hget(keys.crmConnections(), tenantId), UNREACHABLE)
    return json === null ? undefined : { ...(JSON.parse(json) as CrmRecord), tenantId }
  }

  /** The connections of a tenant by the names that people know. */
  async list(tenantId: string): Promise<readonly { readonly name: string; readonly segment_id?: string }[]> {
    const found = await this.get(tenantId)
    return found === undefined ? [] : [{ ...found, name: HUBSPOT }]
  }

  async state(tenantId: string): Promise<CrmState> {
    const json = await orUnavailable(this.#client.hget(keys.crmStates(), tenantId), UNREACHABLE)
    return json === null ? NO_STATE : (JSON.parse(json) as CrmState)
  }

  /** When a person last requested a run, milliseconds; 0: never. */
  async asked(tenantId: string): Promise<number> {
    return Number((await orUnavailable(this.#client.hget(keys.crmRequests(), tenantId), UNREACHABLE)) ?? 0)
  }

  /** Requests a run. A repeat of an unanswered request is the same request. */
  async ask(tenantId: string, nowMs: number): Promise<number> {
    const [asked, { askedMs }] = await Promise.all([this.asked(tenantId), this.state(tenantId)])
    if (asked > askedMs) return asked
    const atMs = Math.max(nowMs, askedMs + 1)
    await orUnavailable(this.#client.hset(keys.crmRequests(), tenantId, atMs), UNREACHABLE)
    return atMs
  }

  /** Replaces a connection. */
  async connect(tenantId: string, record: CrmRecord): Promise<void> {
    await this.#write(tenantId, JSON.stringify(record))
  }

  /** @returns whether there was one */
  async remove(tenantId: string): Promise<boolean> {
    return (await this.#write(tenantId, '')) === 1
  }

  /** @returns false, and writes nothing, when the connection was ended or replaced. @throws LeaseLostError */
  async settle(
    lease: ShareLease,
    { tenantId, id }: Connection,
    state: CrmState,
    stopped: CrmRecord['stopped'],
  ): Promise<boolean> {
    const args = [tenantId, id, JSON.stringify(state), stopped === undefined ? '' : JSON.stringify(stopped)]
    return (await lease.run(settleScript, [keys.crmConnections(), keys.crmStates()], args)) === 1
  }

  #write(tenantId: string, json: string): Promise<unknown> {
    const names = [keys.crmConnections(), keys.crmStates(), keys.crmRequests()]
    return orUnavailable(writeScript.run(this.#client, names, [tenantId, json]), UNREACHABLE)
  }
}
