import type { Clock } from '../../../run/clock.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'
import type { ProcessReport } from '../system-status.ts'

/** Ignores older reports: the process is gone or cannot reach Redis. */
const FRESH_MS = 20_000
/** Removes reports of killed processes after this time. */
const FORGET_MS = 600_000
const FORGET_EVERY_MS = 60_000

const writeReportScript = loadScript(import.meta.url, './writeReport-1.lua')

/** Reports of all processes on all machines, in one small hash. */
export class RedisReports {
  readonly #client: RedisClient
  readonly #clock: Clock
  #forgetAtMs = 0

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  async write(report: ProcessReport): Promise<void> {
    const nowMs = this.#clock.now()
    const forget = nowMs >= this.#forgetAtMs
    if (forget) this.#forgetAtMs = nowMs + FORGET_EVERY_MS
    const args = [report.id, nowMs, JSON.stringify(report), forget ? nowMs - FORGET_MS : '']
    await writeReportScript.run(this.#client, [keys.reports()], args)
  }

  /** Call when the process ends. */
  async withdraw(id: string): Promise<void> {
    await this.#client.hdel(keys.reports(), id)
  }

  /** Reports of the last 20 s. */
  async read(): Promise<readonly ProcessReport[]> {
    const since = this.#clock.now() - FRESH_MS
    return Object.values(await this.#client.hgetall(keys.reports())).flatMap((text) => {
      const at = text.indexOf(' ')
      if (Number(text.slice(0, at)) < since) return []
      return [JSON.parse(text.slice(at + 1)) as ProcessReport]
    })
  }
}
