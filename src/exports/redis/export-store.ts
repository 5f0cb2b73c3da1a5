import type { ExportRecord } from '../../../schemas/export.ts'
import { EXPORT_LIMITS } from '../../../schemas/limits.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import { InputError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import { loadScript } from '../../stores/redis/scripts.ts'

const using = './exports.lua'
const writeScript = loadScript(import.meta.url, './writeExport-2.lua', { using })
const removeScript = loadScript(import.meta.url, './removeExport-4.lua', { using })
const settleScript = loadScript(import.meta.url, './settleExport-6.lua', {
  using: '../../stores/redis/members.lua',
})

/** An export of a tenant. */
export interface Export extends ExportRecord {
  readonly id: string
  readonly tenantId: string
}

/** Changes of an export; null removes a field. */
export type ExportChange = Partial<Pick<ExportRecord, 'active_since'>> & {
  readonly paused?: ExportRecord['paused'] | null
}

/** A file that an export has written. */
export interface ExportedFile {
  readonly key: string
  readonly atMs: number
  readonly tookMs: number
  readonly rows: number
  readonly bytes: number
}

/** An attempt that has ended: its file, or why there is none. */
export type ExportRun = ExportedFile | ExportFailure

export interface ExportFailure {
  readonly atMs: number
  readonly message: string
}

/** The results of an export so far. */
export interface ExportState {
  /** The last due time whose file is written, milliseconds; 0: none. */
  readonly dueMs: number
  /** The last request that was tried, milliseconds; 0: none. */
  readonly askedMs: number
  /** Failed attempts since the last file. */
  readonly failures: number
  /** No attempt before this time, milliseconds. */
  readonly retryAtMs: number
  readonly last?: ExportedFile | undefined
  /** Why the last attempt failed; undefined: it did not. */
  readonly error?: ExportFailure | undefined
  /** The last attempts, newest first. Undefined from earlier versions. */
  readonly runs?: readonly ExportRun[] | undefined
}

/** The object that is being written. */
export interface ExportAttempt {
  readonly tenantId: string
  readonly exportId: string
  readonly key: string
}

const UNREACHABLE = 'the store of exports does not answer'
const NO_STATE: ExportState = { dueMs: 0, askedMs: 0, failures: 0, retryAtMs: 0 }

/** Exports in Redis. Methods reject with `UnavailableError` when Redis is down. */
export class RedisExports {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  /** Tenants with exports. */
  async tenants(): Promise<string[]> {
    return (await orUnavailable(this.#client.smembers(keys.exportingTenants()), UNREACHABLE)).sort()
  }

  /** The exports of a tenant, oldest first. */
  async list(tenantId: string): Promise<Export[]> {
    const found = await orUnavailable(this.#client.hgetall(keys.exportsOf(tenantId)), UNREACHABLE)
    return Object.entries(found)
      .map(([id, json]): Export => ({ ...(JSON.parse(json) as ExportRecord), id, tenantId }))
      .sort((a, b) => compareTexts(a.created_at, b.created_at) || compareTexts(a.id, b.id))
  }

  async get(tenantId: string, id: string): Promise<Export | undefined> {
    const json = await orUnavailable(this.#client.hget(keys.exportsOf(tenantId), id), UNREACHABLE)
    return json === null ? undefined : { ...(JSON.parse(json) as ExportRecord), id, tenantId }
  }

  async state(id: string): Promise<ExportState> {
    const json = await orUnavailable(this.#client.get(keys.exportState(id)), UNREACHABLE)
    return json === null ? NO_STATE : (JSON.parse(json) as ExportState)
  }

  /** When a person last requested a file, milliseconds; 0: never. */
  async asked(id: string): Promise<number> {
    return Number((await orUnavailable(this.#client.get(keys.exportRequest(id)), UNREACHABLE)) ?? 0)
  }

  /** Requests a file. A repeat of an unanswered request is the same request. */
  async ask(id: string, nowMs: number): Promise<number> {
    const [asked, { askedMs }] = await Promise.all([this.asked(id), this.state(id)])
    if (asked > askedMs) return asked
    await orUnavailable(this.#client.set(keys.exportRequest(id), nowMs), UNREACHABLE)
    return nowMs
  }

  /** @throws InputError when its name is taken, or the tenant has too many */
  async create({ id, tenantId, ...record }: Export): Promise<Export> {
    const json = await this.#write(tenantId, [tenantId, id, JSON.stringify(record), EXPORT_LIMITS.exportsMax])
    if (json === 0) {
      throw new InputError(`tenant ${tenantId} has an export named ${JSON.stringify(record.name)}`, { field: 'name' })
    }
    if (json === 1) throw new InputError(`a tenant has at most ${EXPORT_LIMITS.exportsMax} exports: remove one first`)
    return { ...(JSON.parse(String(json)) as ExportRecord), id, tenantId }
  }

  /** @returns undefined when there is no such export any more */
  async change(tenantId: string, id: string, change: ExportChange): Promise<Export | undefined> {
    const json = await this.#write(tenantId, [tenantId, id, JSON.stringify(change), ''])
    return json === null ? undefined : { ...(JSON.parse(String(json)) as ExportRecord), id, tenantId }
  }

  async remove(tenantId: string, id: string): Promise<void> {
    const names = [keys.exportingTenants(), keys.exportsOf(tenantId), keys.exportState(id), keys.exportRequest(id)]
    await orUnavailable(removeScript.run(this.#client, names, [tenantId, id]), UNREACHABLE)
  }

  /** Removes the records of a tenant. Its files stay. */
  async removeAll(tenantId: string): Promise<void> {
    for (const { id } of await this.list(tenantId)) await this.remove(tenantId, id)
    await orUnavailable(this.#client.srem(keys.exportingTenants(), tenantId), UNREACHABLE)
  }

  /** The object that is being written, or that a killed process was writing. */
  async attempt(): Promise<ExportAttempt | undefined> {
    const json = await orUnavailable(this.#client.get(keys.exportAttempt()), UNREACHABLE)
    return json === null ? undefined : (JSON.parse(json) as ExportAttempt)
  }

  /** @param attempt undefined: it has ended @throws LeaseLostError */
  async setAttempt(lease: ShareLease, attempt: ExportAttempt | undefined): Promise<void> {
    await lease.write(keys.exportAttempt(), attempt === undefined ? '' : JSON.stringify(attempt))
  }

  /** Ends an attempt. Writes nothing when the export was removed. @throws LeaseLostError */
  async settle(lease: ShareLease, { tenantId, id }: Export, state: ExportState): Promise<void> {
    const names = [keys.exportsOf(tenantId), keys.exportState(id), keys.exportAttempt()]
    await lease.run(settleScript, names, [id, JSON.stringify(state)])
  }

  #write(tenantId: string, args: readonly (string | number)[]): Promise<unknown> {
    return orUnavailable(
      writeScript.run(this.#client, [keys.exportingTenants(), keys.exportsOf(tenantId)], args),
      UNREACHABLE,
    )
  }
}
