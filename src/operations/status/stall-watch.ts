import type { PipelineStatus } from '../../pipeline/declaration/status.ts'
import type { Clock } from '../../run/clock.ts'
import { numbered } from '../../run/counted.ts'
import { Loop } from '../../run/loop.ts'
import type { Service } from '../../run/service.ts'
import { waitingOf } from './collect.ts'
import { type StallLimits, stalledAt, stallText } from './stall.ts'
import type { JobsStatus } from './system-status.ts'
import { ageText } from './words.ts'

interface StallWatchOptions {
  /** May omit idle groups. */
  readonly pipeline: () => Promise<PipelineStatus>
  readonly batchJobs: () => Promise<JobsStatus>
  readonly limits: StallLimits
  readonly clock: Clock
  /** Called when a stall begins, with its reason, and when it ends. */
  readonly onChange: (reason: string | undefined) => void
}

const LOOK_EVERY_MS = 5_000
const RETRY_DELAY = { minMs: 1_000, maxMs: LOOK_EVERY_MS }

/**
 * Detects a stall every few seconds: an event in the streams is older than the limit, or lines of batch jobs wait and none was
 * fed for that long. `GET /readyz` uses the latest result, so that frequent probes cost nothing.
 */
export class StallWatch implements Service {
  readonly name = 'stall watch'
  readonly #options: StallWatchOptions
  readonly #loop: Loop
  #reason: string | undefined
  /** Number of waiting lines, and when it last changed. */
  #lines = { waiting: 0, sinceMs: 0 }

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
    const [{ streams }, jobs] = await Promise.all([this.#options.pipeline(), this.#options.batchJobs()])
    const stalled = stalledAt(waitingOf(streams), this.#options.limits)
    const reason = stalled === undefined ? this.#unfed(jobs) : stallText(stalled)
    if ((reason === undefined) !== (this.#reason === undefined)) this.#options.onChange(reason)
    this.#reason = reason
  }

  #unfed({ lines_waiting: waiting }: JobsStatus): string | undefined {
    const { clock, limits } = this.#options
    if (waiting !== this.#lines.waiting) this.#lines = { waiting, sinceMs: clock.now() }
    const idleMs = clock.now() - this.#lines.sinceMs
    if (waiting === 0 || idleMs <= limits.stallMs) return undefined
    return `${numbered(waiting, 'line')} of batch jobs wait, and none was fed for ${ageText(idleMs)}`
  }
}
