import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask } from './addon.ts'
import { ID_SETTING } from './cancelling.ts'
import { type EffectiveSettings, isOn } from './effective-settings.ts'

/** Progress of a statement, with the names of ClickHouse's header `X-ClickHouse-Progress`. */
export interface Progress {
  readonly read_rows: string
  readonly read_bytes: string
  /** `0` without written rows; the same for `written_bytes`. */
  readonly written_rows: string
  readonly written_bytes: string
  readonly total_rows_to_read: string
  readonly elapsed_ns: string
  readonly memory_usage: string
}

/** Reports one statement's progress. */
export interface ProgressReports {
  /** Starts the reports if the settings ask for them. Later calls do nothing. */
  start(settings: EffectiveSettings): void
  stop(): void
}

interface Watched {
  readonly intervalMs: number
  readonly report: (progress: Progress) => void
  dueMs: number
  latest: Progress
}

const RUNNING = `SELECT Settings['${ID_SETTING}'], CAST(tuple(read_rows, read_bytes, written_rows, written_bytes, total_rows_approx AS total_rows_to_read, toUInt64(elapsed * 1e9) AS elapsed_ns, memory_usage), 'Tuple(read_rows String, read_bytes String, written_rows String, written_bytes String, total_rows_to_read String, elapsed_ns String, memory_usage String)') FROM system.processes WHERE Settings['${ID_SETTING}'] != '' FORMAT JSONCompactEachRow`

/** ClickHouse's default interval, and the shortest one here. */
const INTERVAL_MS_MIN = 100

/** Reported before the engine knows the statement, such as while it waits for a slot. */
const NOT_BEGUN: Progress = {
  read_rows: '0',
  read_bytes: '0',
  written_rows: '0',
  written_bytes: '0',
  total_rows_to_read: '0',
  elapsed_ns: '0',
  memory_usage: '0',
}

/** Polls the progress of all statements whose clients asked for it, with one query at a time. */
export class ProgressWatch {
  readonly #ask: Ask
  readonly #watched = new Map<string, Watched>()
  #isPolling = false

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** @param report must not throw */
  of(queryId: string, report: (progress: Progress) => void): ProgressReports {
    let isStopped = false
    return {
      start: (settings) => {
        if (isStopped || this.#watched.has(queryId) || !isOn(settings.get('send_progress_in_http_headers'))) return
        const asked = Number(settings.get('http_headers_progress_interval_ms')) || 0
        const intervalMs = Math.max(asked, INTERVAL_MS_MIN)
        this.#watched.set(queryId, { intervalMs, report, dueMs: performance.now() + intervalMs, latest: NOT_BEGUN })
        if (!this.#isPolling) void this.#lookOn()
      },
      stop: () => {
        if (!isStopped) this.#watched.delete(queryId)
        isStopped = true
      },
    }
  }

  async #lookOn(): Promise<void> {
    this.#isPolling = true
    while (this.#watched.size > 0) {
      await sleep(INTERVAL_MS_MIN / 2)
      const due = [...this.#watched].filter(([, { dueMs }]) => dueMs <= performance.now())
      if (due.length === 0) continue
      const running = await this.#running()
      for (const [queryId, watched] of due) {
        if (this.#watched.get(queryId) !== watched) continue
        watched.latest = running.get(queryId) ?? watched.latest
        watched.dueMs = performance.now() + watched.intervalMs
        watched.report(watched.latest)
      }
    }
    this.#isPolling = false
  }

  /** Empty when the engine does not answer. The clients then get the last known values. */
  async #running(): Promise<ReadonlyMap<string, Progress>> {
    const text = await this.#ask(RUNNING).catch(() => '')
    const lines = text.split('\n').filter((line) => line !== '')
    return new Map(lines.map((line) => JSON.parse(line) as [string, Progress]))
  }
}
