import type { PipelineStatus } from '../../pipeline/declaration/status.ts'
import { Loop } from '../../run/loop.ts'
import type { Service } from '../../run/service.ts'
import { lastMinuteOf, waitingOf } from './collect.ts'
import { type StallLimits, stallOf } from './stall.ts'
import type { JobsStatus, ProcessReport } from './system-status.ts'

interface StallWatchOptions {
  /** May omit idle groups. */
  readonly pipeline: () => Promise<PipelineStatus>
  readonly batchJobs: () => Promise<JobsStatus>
  readonly reports: () => Promise<readonly ProcessReport[]>
  readonly limits: StallLimits
  /** Called when a stall begins, with its reason, and when it ends. */
  readonly onChange: (reason: string | undefined) => void
}

const LOOK_EVERY_MS = 5_000
const RETRY_DELAY = { minMs: 1_000, maxMs: LOOK_EVERY_MS }

/** Looks for a stall every few seconds, for the log. */
export class StallWatch implements Service {
  readonly name = 'stall watch'
  readonly #options: StallWatchOptions
  readonly #loop: Loop
  #reason: string | undefined

  constructor(options: StallWatchOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        await this.look()
        return Math.min(LOOK_EVERY_MS, options.limits.stallMs / 2)
      },
      // Other services log an unreachable Redis. The last result stays.
      failed: () => {},
      delay: RETRY_DELAY,
    })
  }

  /** Reason of the stall; undefined when there is none. */
  get reason(): string | undefined {
    return this.#reason
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** Looks once. */
  async look(): Promise<void> {
    const { pipeline, batchJobs, reports, limits } = this.#options
    const [{ streams }, batch_jobs, all] = await Promise.all([pipeline(), batchJobs(), reports()])
    const { events, lines } = stallOf(
      { waiting: waitingOf(streams), batch_jobs, last_minute: lastMinuteOf(all) },
      limits,
    )
    const reason = events ?? lines
    if ((reason === undefined) !== (this.#reason === undefined)) this.#options.onChange(reason)
    this.#reason = reason
  }
}
