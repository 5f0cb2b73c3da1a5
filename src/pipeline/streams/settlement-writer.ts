import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys } from '../../stores/redis/keys.ts'
import { type Addition, loadScript, type ScriptArgument } from '../../stores/redis/scripts.ts'
import type { Lane } from '../declaration/lane.ts'
import { fieldOf } from '../event/block.ts'
import type { SettleResult } from '../runner/ports.ts'
import { isForOther, type RawEntry } from './entries.ts'

/** An identity that an owner may have in the dedup store. */
export interface Claim {
  /** Of the hash that would hold it. */
  readonly key: string
  readonly identity: Buffer
  readonly owner: Buffer
}

const settleScript = loadScript(import.meta.url, './settle-N.lua', { using: '../../stores/redis/added-before.lua' })

/** Builds one call of the settle script. */
export class SettlementWriter {
  readonly #keys: string[]
  readonly #outputs: Addition[] = []
  readonly #counters: ScriptArgument[] = []
  readonly #claims: ScriptArgument[] = []

  constructor(source: string, counters: string) {
    this.#keys = [source, counters]
  }

  /** Adds to a counter of the partition. */
  count(field: string, by: number): void {
    this.#counters.push(2, field, by)
  }

  /** Adds to the progress of a batch job. */
  progress(key: string, field: string, by: number): void {
    this.#counters.push(this.#index(key), field, by)
  }

  /** The settlement is contested when there is this claim. */
  demandUnclaimed({ key, identity, owner }: Claim): void {
    this.#claims.push(this.#index(key), identity, owner)
  }

  /** Adds an entry to a stream of the same partition. */
  add(stream: string, fields: readonly (string | Buffer)[]): void {
    this.#outputs.push({ stream, fields })
  }

  #index(key: string): number {
    const at = this.#keys.indexOf(key)
    return at < 0 ? this.#keys.push(key) : at + 1
  }

  /**
   * @param ids one, unless `delivery` is `''`
   * @param delivery of an entry that a claiming step read: whether it is the only one, as far as its deliverer knows; `gone`:
   * see `BrokenEntry`
   */
  async run(
    client: RedisClient,
    group: string,
    ids: readonly string[],
    delivery: '' | 'first' | 'repeated' | 'gone' = '',
  ): Promise<SettleResult> {
    const places = this.#outputs.map(({ stream }) => this.#index(stream))
    const head = [group, ids.length, ...ids, delivery, this.#claims.length / 3, ...this.#claims, places.length]
    const result = await settleScript.runAdding(client, this.#outputs, this.#keys, (parts) => [
      ...head,
      ...places.flatMap((place, i) => [place, ...parts[i]!]),
      ...this.#counters,
    ])
    if (Number(result) < 0) return 'contested'
    return Number(result) === 1 ? 'written' : 'settled before'
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
  delivery: '' | 'gone' = '',
): Promise<void> {
  const writer = new SettlementWriter(keys.stream(at.partition, from, at.lane), keys.counters(at.partition))
  writer.count(counterFields.done(group, from, at.lane, 'entries'), 1)
  writer.count(counterFields.outcome(group, 'broken'), 1)
  writer.add(keys.dead(at.partition), fields)
  await writer.run(client, group, [id], delivery)
}

/** Acknowledges the entries that were put back for another group, and returns those that are for this one. */
export async function passOver(
  client: RedisClient,
  group: string,
  from: string,
  at: { readonly partition: number; readonly lane: Lane },
  raw: readonly RawEntry[],
): Promise<readonly RawEntry[]> {
  const others = raw.filter((entry) => isForOther(entry, group))
  if (others.length === 0) return raw
  const events = others.reduce((sum, [, fields]) => sum + Number(fieldOf(fields!, 'n') ?? 0), 0)
  const writer = new SettlementWriter(keys.stream(at.partition, from, at.lane), keys.counters(at.partition))
  writer.count(counterFields.done(group, from, at.lane, 'entries'), others.length)
  writer.count(counterFields.done(group, from, at.lane, 'events'), events)
  const ids = others.map(([id]) => id.toString('latin1'))
  await writer.run(client, group, ids)
  return raw.filter((entry) => !others.includes(entry))
}
