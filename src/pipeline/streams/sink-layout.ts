import type { Logger } from 'pino'
import { PASSING } from '../../run/passing.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'

const adoptLayoutScript = loadScript(import.meta.url, './adoptLayout-N.lua')

const DONE = 0
const WORKED_BY = -1

/**
 * What the key of a group's lease says while its sink is divided into shares: whoever would be the one sink finds the lease
 * taken. `''`: there is one sink, and while it works the key has its name.
 */
export function layoutOf(shares: number): string {
  return shares === 1 ? '' : `shares ${shares}`
}

export interface SinkLayoutOptions {
  readonly client: RedisClient
  readonly group: string
  /** How many shares there are to be. */
  readonly shares: number
  readonly log: Logger
}

/** The number of shares of a sink: one at a time is in force. */
export class SinkLayout {
  readonly #options: SinkLayoutOptions
  /** Whose end is waited for, as it was told. */
  #told: number | undefined

  constructor(options: SinkLayoutOptions) {
    this.#options = options
  }

  /**
   * Puts our number in force, as soon as nobody works by another one: then what such a sink was about to insert is finished under
   * its own lease, so that its paused owner, or a process that is started like it, is fenced off as ever; and the change is one
   * step. To be called again until the number is in force.
   * @param finishOf finishes the open intent of a share; undefined: there is one sink
   */
  async adopt(finishOf: (shares: number, share: number | undefined) => Promise<void>): Promise<void> {
    const { client, group, shares, log } = this.#options
    const before = sharesBy(await client.get(keys.lease(group)))
    if (before === shares) return
    const names = [keys.lease(group), keys.sinkRoster(group)]
    for (const share of sharesOf(before)) {
      names.push(keys.lease(group, share), keys.sinkIntent(group, share), keys.sinkLives(group, share))
    }
    for (const share of sharesOf(shares)) names.push(keys.sinkLives(group, share))
    const result = Number(await adoptLayoutScript.run(client, names, [layoutOf(before), layoutOf(shares), before]))
    const told = { group, sink_shares: shares, before }
    if (result === DONE) log.info(told, 'the sink has another number of shares')
    else if (result !== WORKED_BY) await finishOf(before, sharesOf(before)[result - 1])
    else if (this.#told !== before) {
      this.#told = before
      log.warn({ ...told, ...PASSING }, 'sinks with another SINK_SHARES work; this one waits until they have ended')
    }
  }
}

function sharesBy(owner: string | null): number {
  return Number(/^shares (\d+)$/.exec(owner ?? '')?.[1] ?? 1)
}

/** The shares as key names have them. */
function sharesOf(count: number): readonly (number | undefined)[] {
  return count === 1 ? [undefined] : Array.from({ length: count }, (_, share) => share)
}
