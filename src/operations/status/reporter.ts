import { randomUUID } from 'node:crypto'
import type { Clock } from '../../run/clock.ts'
import { Loop } from '../../run/loop.ts'
import type { Service } from '../../run/service.ts'
import type { RecentWork } from './recent.ts'
import type { RedisReports } from './redis/reports.ts'
import type { DataSetStatus, LoggedProblem, ProcessReport, ProcessStatus } from './system-status.ts'

interface ReporterOptions {
  readonly store: RedisReports
  readonly process: Omit<ProcessStatus, 'started_at' | 'told_at'>
  /** Undefined: the process runs no role. */
  readonly recent: RecentWork | undefined
  /** Undefined: the process has no enrichment data. */
  readonly data: (() => readonly DataSetStatus[]) | undefined
  /** The disk of DATA_DIR; undefined: not reported. */
  readonly disk?: () => ProcessReport['disk']
  readonly problems: () => readonly Omit<LoggedProblem, 'process'>[]
  readonly clock: Clock
}

const REPORT_EVERY_MS = 5_000
/** Bounds the size of a report. */
const DATA_SETS_MAX = 50
/** Name of the supervisor in the last errors. */
const SUPERVISOR = 'supervisor'
const RETRY_DELAY = { minMs: 1_000, maxMs: REPORT_EVERY_MS }

/** Writes a report of this process to Redis every few seconds, so that a status shows all machines. */
export class Reporter implements Service {
  readonly name = 'reporter'
  readonly #options: ReporterOptions
  readonly #id = randomUUID()
  readonly #startedAt: string
  readonly #loop = new Loop({
    name: this.name,
    round: async () => {
      await this.#options.store.write(this.report())
      return REPORT_EVERY_MS
    },
    leave: () => this.#options.store.withdraw(this.#id),
    // Other services log an unreachable Redis.
    failed: () => {},
    delay: RETRY_DELAY,
  })

  constructor(options: ReporterOptions) {
    this.#options = options
    this.#startedAt = new Date(options.clock.now()).toISOString()
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  report(): ProcessReport {
    const { process, recent, data, disk, problems, clock } = this.#options
    const name = process.roles.join('+') || SUPERVISOR
    return {
      id: this.#id,
      process: { ...process, started_at: this.#startedAt, told_at: new Date(clock.now()).toISOString() },
      last_minute: recent?.lastMinute() ?? {},
      inserts: recent?.inserts() ?? [],
      ...(disk && { disk: disk() }),
      ...(data && { data: worstFirst(data()).slice(0, DATA_SETS_MAX) }),
      errors: problems().map((problem) => ({ ...problem, process: name })),
    }
  }
}

function worstFirst(data: readonly DataSetStatus[]): DataSetStatus[] {
  const isFine = ({ state, too_old: tooOld }: DataSetStatus) => (state === 'ok' || state === 'replaced') && !tooOld
  return [...data.filter((set) => !isFine(set)), ...data.filter(isFine)]
}
