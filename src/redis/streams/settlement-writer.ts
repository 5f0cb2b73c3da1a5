import { fieldOf } from '../../core/event/block.ts'
import type { Lane } from '../../core/pipeline/lane.ts'
import type { SettleResult } from '../../runner/ports.ts'
import type { RedisClient } from '../connect.ts'
import { counterFields, keys } from '../keys.ts'
import { replyCode } from '../reply-error.ts'
import { loadScript, type ScriptArgument, type Write } from '../scripts.ts'
import { LARGE_BYTES } from './append.ts'
import { isForOther, type RawEntry } from './entries.ts'

/** An identity that an owner may have in the dedup store. */
export interface Claim {
  /** Of the hash that would hold it. */
  readonly key: string
  readonly identity: Buffer
  readonly owner: Buffer
}

const settleScript = loadScript('settle-N')

/** Builds one call of the settle script. */
export class SettlementWriter {
  readonly #keys: string[]
  readonly #outputs: { readonly stream: string; readonly fields: readonly (string | Buffer)[] }[] = []
  readonly #counters: ScriptArgument[] = []
  readonly #claims: ScriptArgument[] = []
  #bytes = 0

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
    for (const field of fields) this.#bytes += field.length
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
    const head = [group, ids.length, ...ids, delivery, this.#claims.length / 3, ...this.#claims]
    const result = await this.#write(client, [...head, this.#outputs.length])
    if (result < 0) return 'contested'
    return result === 1 ? 'written' : 'settled before'
  }

  async #write(client: RedisClient, head: readonly ScriptArgument[]): Promise<number> {
    const places = this.#outputs.map(({ stream }) => this.#index(stream))
    if (this.#bytes >= LARGE_BYTES) {
      const additions = this.#outputs.map(({ stream, fields }): Write => ['XADD', stream, '*', ...fields])
      const args = [...head, ...places.flatMap((place) => [place, 0]), ...this.#counters]
      try {
        return Number(await settleScript.runBehind(client, additions, this.#keys, args))
      } catch (error) {
        // What drains runs above maxmemory too.
        if (replyCode(error) !== 'OOM') throw error
      }
    }
    const outputs = this.#outputs.flatMap(({ fields }, i) => [places[i]!, fields.length, ...fields])
    return Number(await settleScript.run(client, this.#keys, [...head, ...outputs, ...this.#counters]))
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
