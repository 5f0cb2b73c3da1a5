import type { Lane } from '../../core/pipeline/pipeline.ts'
import type { RedisClient } from '../connect.ts'
import { counterFields, keys } from '../keys.ts'
import { loadScript, type ScriptArgument } from '../scripts.ts'

const commitScript = loadScript('commit-N')

/** Builds one call of the commit script. */
export class CommitWriter {
  readonly #keys: string[]
  readonly #outputs: ScriptArgument[] = []
  readonly #counters: ScriptArgument[] = []
  #outputCount = 0

  constructor(source: string, counters: string) {
    this.#keys = [source, counters]
  }

  /** Adds to a counter of the partition. */
  count(field: string, by: number): void {
    this.#counters.push(2, field, by)
  }

  /** Adds to the finished events of a batch job. */
  progress(key: string, outcome: string, by: number): void {
    this.#counters.push(this.#index(key), outcome, by)
  }

  /** Adds an entry to a stream of the same partition. */
  add(stream: string, fields: readonly (string | Buffer)[]): void {
    this.#outputs.push(this.#index(stream), fields.length, ...fields)
    this.#outputCount++
  }

  #index(key: string): number {
    const at = this.#keys.indexOf(key)
    return at < 0 ? this.#keys.push(key) : at + 1
  }

  /** 1 when it was written, 0 when the entries were acknowledged before. */
  async run(client: RedisClient, group: string, ids: readonly string[]): Promise<number> {
    const args = [group, ids.length, ...ids, this.#outputCount, ...this.#outputs, ...this.#counters]
    return Number(await commitScript.run(client, this.#keys, args))
  }
}

/** Moves an entry that is no block to the dead letters, and acknowledges it. */
export async function bury(
  client: RedisClient,
  group: string,
  from: string,
  at: { readonly partition: number; readonly lane: Lane },
  id: string,
  fields: readonly (string | Buffer)[],
): Promise<void> {
  const writer = new CommitWriter(keys.stream(at.partition, from, at.lane), keys.counters(at.partition))
  writer.count(counterFields.done(group, from, at.lane, 'entries'), 1)
  writer.count(counterFields.outcome(group, 'broken'), 1)
  writer.add(keys.dead(at.partition), fields)
  await writer.run(client, group, [id])
}
