import { randomUUID } from 'node:crypto'
import { REENRICHMENT_LIMITS } from '../../../../schemas/limits.ts'
import { InputError, UnavailableError } from '../../../run/errors.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { answeredOr } from '../../../stores/redis/errors.ts'
import { keys } from '../../../stores/redis/keys.ts'
import type { ShareLease } from '../../../stores/redis/membership.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'
import type { ReenrichJob, ReenrichRequest } from './job.ts'

const answered = answeredOr('Redis did not answer: try again')

const using = '../../../stores/redis/members.lua'
const putScript = loadScript(import.meta.url, './putWaiting-2.lua')
const cancelScript = loadScript(import.meta.url, './cancelJob-2.lua')
const beginScript = loadScript(import.meta.url, './beginJob-5.lua', { using })
const writeScript = loadScript(import.meta.url, './writeJob-5.lua', { using })
const endScript = loadScript(import.meta.url, './endJob-8.lua', { using })
const replacedScript = loadScript(import.meta.url, './noteReplaced-5.lua', { using })

/** Requests of one tenant at the same moment. */
const TRIES_MAX = 20

/** A tenant's jobs. */
export interface TenantJobs {
  /** Runs, or was the last to run. */
  readonly job: ReenrichJob | undefined
  readonly waiting: ReenrichJob | undefined
}

/** Jobs that apply rules to stored events: at most one of a tenant runs, and one waits. Rejects with `UnavailableError`. */
export class ReenrichJobs {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async read(tenantId: string): Promise<TenantJobs> {
    const [job, waiting] = await answered(
      Promise.all([
        this.#client.hget(keys.reenrichments(), tenantId),
        this.#client.hget(keys.waitingReenrichments(), tenantId),
      ]),
    )
    return { job: parsed(job), waiting: parsed(waiting) }
  }

  /**
   * Requests a job. Joins a waiting one, which then has the rules of both and the longer past.
   * @returns the job that will apply the rules
   * @throws InputError when it would have too many rules
   */
  async request(tenantId: string, request: ReenrichRequest): Promise<ReenrichJob> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const text = (await answered(this.#client.hget(keys.waitingReenrichments(), tenantId))) ?? ''
      const job = joined(tenantId, parsed(text || null), request)
      if (await this.#put(tenantId, text, job)) return job
    }
    throw new UnavailableError('too many requests at once for this tenant: try again')
  }

  /** @returns the result; `too late`: it replaces events, and will end soon */
  async cancel(tenantId: string, jobId: string): Promise<'cancelled' | 'cancelling' | 'too late' | 'unknown'> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const text = await answered(this.#client.hget(keys.waitingReenrichments(), tenantId))
      if (parsed(text)?.jobId === jobId) {
        if (await this.#put(tenantId, text!, undefined)) return 'cancelled'
        continue
      }
      const names = [keys.reenrichments(), keys.cancelledReenrichments()]
      const found = await answered(cancelScript.run(this.#client, names, [tenantId, jobId]))
      return found === 1 ? 'cancelling' : found === 2 ? 'too late' : 'unknown'
    }
    throw new UnavailableError('too many requests at once for this tenant: try again')
  }

  /** Open jobs of all tenants, in the order in which they are done. */
  async open(max: number): Promise<{ readonly jobs: readonly ReenrichJob[]; readonly total: number }> {
    const queue = keys.reenrichmentQueue()
    const [tenants, total] = await Promise.all([this.#client.zrange(queue, 0, `${max - 1}`), this.#client.zcard(queue)])
    if (tenants.length === 0) return { jobs: [], total: 0 }
    const [running, waiting] = await Promise.all([
      this.#client.hmget(keys.reenrichments(), ...tenants),
      this.#client.hmget(keys.waitingReenrichments(), ...tenants),
    ])
    const jobs = [...running, ...waiting].flatMap((text) => parsed(text) ?? [])
    const isOpen = jobs.filter(({ state }) => state === 'running' || state === 'waiting')
    return { jobs: isOpen.sort(byTurn), total: Math.max(total, isOpen.length) }
  }

  /** Removes the jobs of a deleted tenant. */
  async removeAll(tenantId: string): Promise<void> {
    for (const key of [
      ...[keys.waitingReenrichments(), keys.reenrichments()],
      ...[keys.cancelledReenrichments(), keys.replacedReenrichments()],
    ]) {
      await this.#client.hdel(key, tenantId)
    }
    await this.#client.zrem(keys.reenrichmentQueue(), tenantId)
  }

  /** Calls of the process that runs the jobs. */
  under(lease: ShareLease): HeldJobs {
    return new HeldJobs(this.#client, lease)
  }

  async #put(tenantId: string, before: string, job: ReenrichJob | undefined): Promise<boolean> {
    const names = [keys.waitingReenrichments(), keys.reenrichmentQueue()]
    const args = [tenantId, before, job === undefined ? '' : JSON.stringify(job), job?.requestedAtMs ?? 0]
    return (await answered(putScript.run(this.#client, names, args))) === 1
  }
}

/** Changes of jobs by the holder of the lease `rewrite`. All reject with `LeaseLostError` when another process has it. */
export class HeldJobs {
  readonly #client: RedisClient
  readonly #lease: ShareLease

  constructor(client: RedisClient, lease: ShareLease) {
    this.#client = client
    this.#lease = lease
  }

  /** The job to work on: one whose process ended, or else the oldest request, which then runs. */
  async next(begun: (job: ReenrichJob) => ReenrichJob): Promise<ReenrichJob | undefined> {
    for (;;) {
      const tenants = await this.#client.zrange(keys.reenrichmentQueue(), 0, '-1')
      if (tenants.length === 0) return undefined
      const jobs = (await this.#client.hmget(keys.reenrichments(), ...tenants)).map(parsed)
      const running = jobs.find((job) => job?.state === 'running')
      if (running !== undefined) return running
      const [tenantId] = tenants as [string]
      const text = await this.#client.hget(keys.waitingReenrichments(), tenantId)
      if (text === null) {
        await this.#end(tenantId, '')
        continue
      }
      const job = begun(parsed(text)!)
      const names = [keys.waitingReenrichments(), keys.reenrichments()]
      if ((await this.#lease.run(beginScript, names, [tenantId, text, JSON.stringify(job)])) === 1) return job
    }
  }

  /** @returns `removed`: with its tenant */
  async write(job: ReenrichJob): Promise<'written' | 'cancelled' | 'removed'> {
    const names = [keys.reenrichments(), keys.cancelledReenrichments()]
    const found = await this.#lease.run(writeScript, names, [job.tenantId, job.jobId, JSON.stringify(job)])
    return found === 2 ? 'cancelled' : found === 1 ? 'written' : 'removed'
  }

  end(job: ReenrichJob): Promise<void> {
    return this.#end(job.tenantId, JSON.stringify(job))
  }

  /** Notes that the events of a run are replaced. */
  async noteReplaced({ tenantId, run }: { readonly tenantId: string; readonly run: string }): Promise<void> {
    const names = [keys.reenrichments(), keys.replacedReenrichments()]
    await this.#lease.run(replacedScript, names, [tenantId, run])
  }

  async isReplaced({ tenantId, run }: ReenrichJob): Promise<boolean> {
    return run !== undefined && (await this.#client.hget(keys.replacedReenrichments(), tenantId)) === run
  }

  async #end(tenantId: string, json: string): Promise<void> {
    const names = [
      ...[keys.waitingReenrichments(), keys.reenrichments(), keys.reenrichmentQueue()],
      ...[keys.cancelledReenrichments(), keys.replacedReenrichments()],
    ]
    await this.#lease.run(endScript, names, [tenantId, json])
  }
}

function joined(tenantId: string, waiting: ReenrichJob | undefined, request: ReenrichRequest): ReenrichJob {
  const rules = [...new Set([...(waiting?.rules ?? []), ...request.rules])]
  if (rules.length > REENRICHMENT_LIMITS.rules) {
    const { rules: max } = REENRICHMENT_LIMITS
    throw new InputError(`a job applies at most ${max} rules: wait until the waiting one has begun, and try again`)
  }
  if (waiting === undefined) {
    return { ...{ jobId: randomUUID(), tenantId, state: 'waiting' }, ...request, rules, ...NOT_BEGUN }
  }
  const days = waiting.days === null || request.days === null ? null : Math.max(waiting.days, request.days)
  const deletes = [...new Set([...(waiting.deletes ?? []), ...(request.deletes ?? [])])]
  const unclassified = waiting.unclassified || request.unclassified
  return { ...waiting, rules, days, unclassified, ...(deletes.length > 0 && { deletes }) }
}

const NOT_BEGUN = { share: 0, changedEvents: 0, failures: 0 } as const

function parsed(text: string | null): ReenrichJob | undefined {
  return text === null ? undefined : (JSON.parse(text) as ReenrichJob)
}

/** The running job first. */
function byTurn(a: ReenrichJob, b: ReenrichJob): number {
  return Number(b.state === 'running') - Number(a.state === 'running') || a.requestedAtMs - b.requestedAtMs
}
