import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'
import type { ProcessReport } from '../system-status.ts'

/** The process of an older report is gone, hangs or cannot reach Redis. */
const FRESH_MS = 20_000
/** Removes reports of killed processes after this time. */
const FORGET_MS = 600_000
const FORGET_EVERY_MS = 60_000

const writeReportScript = loadScript(import.meta.url, './writeReport-1.lua')
const readReportsScript = loadScript(import.meta.url, './readReports-1.lua')

/** A report with its age, and how far the clock of its process was ahead of Redis' when it was written. */
export type ReadReport = ProcessReport & { readonly skew_ms: number; readonly age_ms: number }

/** Whether a process still reports. */
export function isFresh({ age_ms: ageMs }: ReadReport): boolean {
  return ageMs <= FRESH_MS
}

/** Reports of all processes on all machines, in one small hash. Their age is by the clock of Redis. */
export class RedisReports {
  readonly #client: RedisClient
  #forgetAtMs = 0

  constructor(client: RedisClient) {
    this.#client = client
  }

  async write(report: ProcessReport): Promise<void> {
    const nowMs = performance.now()
    const forget = nowMs >= this.#forgetAtMs
    if (forget) this.#forgetAtMs = nowMs + FORGET_EVERY_MS
    const args = [report.id, JSON.stringify(report), forget ? FORGET_MS : '']
    await writeReportScript.run(this.#client, [keys.reports()], args)
  }

  /** Call when the process ends. */
  async withdraw(id: string): Promise<void> {
    await this.#client.hdel(keys.reports(), id)
  }

  /** Reports of the last 20 s. */
  async read(): Promise<readonly ReadReport[]> {
    return (await this.readAll()).filter(isFresh)
  }

  /** Also the last reports of processes that ended or hang without having withdrawn them, for 10 minutes or longer. */
  async readAll(): Promise<readonly ReadReport[]> {
    const [now, ...texts] = ((await readReportsScript.run(this.#client, [keys.reports()], [])) as unknown[]).map(String)
    return texts.map((text) => {
      const at = text.indexOf(' ')
      const writtenMs = Number(text.slice(0, at))
      const report = JSON.parse(text.slice(at + 1)) as ProcessReport
      return { ...report, skew_ms: Date.parse(report.process.told_at) - writtenMs, age_ms: Number(now) - writtenMs }
    })
  }
}
