import type { PipelineStatus } from '../../pipeline/declaration/status.ts'
import type { Clock } from '../../run/clock.ts'
import { numbered } from '../../run/counted.ts'
import { Loop } from '../../run/loop.ts'
import type { Service } from '../../run/service.ts'
import { waitingOf } from './collect.ts'
import { type StallLimits, stalledAt } from './stall.ts'
import type { JobsStatus } from './system-status.ts'
import { ageText } from './words.ts'

export interface StallWatchOptions {
  /** What waits; groups at rest may be left out. */
  readonly pipeline: () => Promise<PipelineStatus>
  readonly batchJobs: () => Promise<JobsStatus>
  readonly limits: StallLimits
  readonly clock: Clock
  /** Called when it begins to stall, and when it does no more. */
  readonly onChange: (reason: string | undefined) => void
}

const LOOK_EVERY_MS = 5_000
const RETRY_DELAY = { minMs: 1_000, maxMs: LOOK_EVERY_MS }

/**
 * Looks every few seconds whether what was accepted gets on: no event in the streams is older than the limit, and while
 * lines of batch jobs wait some of them are fed within it. Does not look less than that often: `readyz` is asked by many.
 */
export class StallWatch implements Service {
  readonly name = 'stall watch'
  readonly #options: StallWatchOptions
  readonly #loop: Loop
  #reason: string | undefined
  /** Lines to feed at the last look that found another number, and when that was. */
  #lines = { waiting: 0, sinceMs: 0 }

  constructor(options: StallWatchOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        await this.look()
        return Math.min(LOOK_EVERY_MS, options.limits.stallMs / 2)
      },
      // Redis that is away is told of elsewhere, and nothing gets on meanwhile.
      failed: () => {},
      delay: RETRY_DELAY,
    })
  }

  /** Why what was accepted does not get on; undefined while it does. */
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
    const reason =
      stalled === undefined
        ? this.#unfed(jobs)
        : `the oldest unfinished event waits for ${stalled.where} since ${ageText(stalled.age_ms)}`
    if ((reason === undefined) !== (this.#reason === undefined)) this.#options.onChange(reason)
    this.#reason = reason
  }

  #unfed({ lines_waiting: waiting }: JobsStatus): string | undefined {
    const { clock, limits } = this.#options
    if (waiting !== this.#lines.waiting) this.#lines = { waiting, sinceMs: clock.now() }
    const idleMs = clock.now() - this.#lines.sinceMs
    if (waiting === 0 || idleMs <= limits.stallMs) return undefined
    return `none of ${numbered(waiting, 'line')} of batch jobs was fed for ${ageText(idleMs)}`
  }
}
