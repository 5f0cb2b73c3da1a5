import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { persisted } from '../../../../stores/redis/durability/persisted.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import type { ShareLease } from '../../../../stores/redis/membership.ts'
import type { Caller } from '../../../../stores/redis/pipelined-calls.ts'
import type { PullAsk, PullState } from '../state.ts'

/** A mark, and when its item was written, milliseconds. */
export type Mark = readonly [name: string, atMs: number]

/** A job that is about to be created. */
export interface PullIntent {
  readonly job: string
  /** The state once the job exists. */
  readonly state: PullState
  readonly marks: readonly Mark[]
}

/** The fate of the job of an intent. */
export type JobFate = 'created' | 'never created' | 'unknown'

/** Arguments per call. */
const PER_CALL = 1_000

/**
 * States of pulls in Redis. States and intents are written only while this process has the lease, so a paused process that comes back
 * changes nothing. Marks are facts that never become wrong, and need no lease.
 */
export class RedisPullStore {
  readonly #client: RedisClient
  readonly #lease: Pick<ShareLease, 'write'>

  constructor(client: RedisClient, lease: Pick<ShareLease, 'write'>) {
    this.#client = client
    this.#lease = lease
  }

  /** Ids of all pulled sources. */
  sources(): Promise<string[]> {
    return this.#client.smembers(keys.pulledSources())
  }

  state(sourceId: string): Promise<PullState | undefined> {
    return readPullState(this.#client, sourceId)
  }

  writeState(sourceId: string, state: PullState): Promise<void> {
    return this.#lease.write(keys.pullState(sourceId), JSON.stringify(state))
  }

  /** The last requests of people, by source id. `PullState.asked` tells which were taken up. */
  async asks(sourceIds: readonly string[]): Promise<ReadonlyMap<string, PullAsk>> {
    if (sourceIds.length === 0) return new Map()
    const found = await this.#client.mget(...sourceIds.map(keys.pullAsk))
    return new Map(
      sourceIds.flatMap((id, i) => (found[i] == null ? [] : [[id, JSON.parse(found[i]) as PullAsk] as const])),
    )
  }

  async intent(sourceId: string): Promise<PullIntent | undefined> {
    const json = await this.#client.get(keys.pullIntent(sourceId))
    return json === null ? undefined : (JSON.parse(json) as PullIntent)
  }

  /** Resolves when the intent is on disk. */
  async writeIntent(sourceId: string, intent: PullIntent): Promise<void> {
    await this.#lease.write(keys.pullIntent(sourceId), JSON.stringify(intent))
    await persisted(this.#client)
  }

  /** An upload that is dead can no longer become a job. Until then its fate is unknown. */
  async fateOf(job: string): Promise<JobFate> {
    // One script deletes the upload and leaves the receipt. In this order, at least one of the two is found.
    const isUploading = await this.#client.exists(keys.upload(job))
    if ((await this.#client.exists(keys.jobReceipt(job))) === 1) return 'created'
    return isUploading === 1 ? 'unknown' : 'never created'
  }

  /** Notes that the job of an intent exists. `endIntent` comes next. Both may be repeated after a crash at any point. */
  async noteJob(sourceId: string, { state, marks }: PullIntent): Promise<void> {
    await this.addMarks(sourceId, marks)
    await this.writeState(sourceId, state)
  }

  /** Removes an intent whose job is noted. */
  async endIntent(sourceId: string, { job }: PullIntent): Promise<void> {
    await this.dropIntent(sourceId)
    // Last: without the receipt, an intent means that its job was never created.
    await this.removeReceipts([job])
  }

  dropIntent(sourceId: string): Promise<void> {
    return this.#lease.write(keys.pullIntent(sourceId), '')
  }

  async removeReceipts(jobs: readonly string[]): Promise<void> {
    await Promise.all(jobs.map((job) => this.#client.del(keys.jobReceipt(job))))
  }

  async addMarks(sourceId: string, marks: readonly Mark[]): Promise<void> {
    for (let at = 0; at < marks.length; at += PER_CALL) {
      const pairs = marks.slice(at, at + PER_CALL).flatMap(([name, atMs]) => [atMs, name])
      await this.#client.zadd(keys.pullMarks(sourceId), ...pairs)
    }
  }

  async haveMarks(sourceId: string, names: readonly string[]): Promise<boolean[]> {
    const found: boolean[] = []
    for (let at = 0; at < names.length; at += PER_CALL) {
      const scores = await this.#client.zmscore(keys.pullMarks(sourceId), ...names.slice(at, at + PER_CALL))
      found.push(...scores.map((score) => score !== null))
    }
    return found
  }

  countMarks(sourceId: string): Promise<number> {
    return this.#client.zcard(keys.pullMarks(sourceId))
  }

  async dropMarks(sourceId: string, untilMs: number): Promise<void> {
    await this.#client.zremrangebyscore(keys.pullMarks(sourceId), '-inf', untilMs)
  }

  /** Removes everything about a source that no longer exists or was revoked. */
  async forget(sourceId: string): Promise<void> {
    await removePull(this.#client, sourceId)
    await this.#client.srem(keys.pulledSources(), sourceId)
  }
}

/** Undefined: the source has not run yet. */
export async function readPullState(client: Caller, sourceId: string): Promise<PullState | undefined> {
  const json = await client.callBuffer('GET', keys.pullState(sourceId))
  return json === null ? undefined : (JSON.parse(String(json)) as PullState)
}

/** Asks for a run now. It begins within seconds. */
export async function askForRun(client: RedisClient, sourceId: string, ask: PullAsk): Promise<void> {
  await client.set(keys.pullAsk(sourceId), JSON.stringify(ask))
}

/** Removes the state of a source. */
export async function removePull(client: RedisClient, sourceId: string): Promise<void> {
  const json = await client.get(keys.pullIntent(sourceId))
  const state = await readPullState(client, sourceId)
  const jobs = [...(state?.jobs ?? []), ...(json === null ? [] : [(JSON.parse(json) as PullIntent).job])]
  await Promise.all(jobs.map((job) => client.del(keys.jobReceipt(job))))
  await client.del(
    keys.pullState(sourceId),
    keys.pullIntent(sourceId),
    keys.pullMarks(sourceId),
    keys.pullAsk(sourceId),
  )
}
