import type { Logger } from 'pino'
import { SAMPLE_TENANT } from '../../../schemas/tenant.ts'
import type { Clock } from '../../run/clock.ts'
import { Loop, pause } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import { timeLimit } from '../../run/time-limit.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import type { TenantAdmin } from '../../tenants/admin.ts'
import { deleteTenant } from '../erasure/delete-tenant.ts'
import type { ErasableArchive, ErasableRecords, ErasableTables, TenantRemoval } from '../erasure/ports.ts'
import { isShown } from './sample.ts'

interface SampleRemovalOptions {
  readonly admin: Pick<TenantAdmin, 'listTenants'>
  /** Lease of the process that removes stored events. */
  readonly lease: ShareLease
  /** Ends the work of a killed process that copied stored events: its copy could bring removed ones back. */
  readonly endCopies: () => Promise<void>
  /** Opens them for one removal, which closes them. */
  readonly open: () => {
    readonly tables: ErasableTables
    readonly records: ErasableRecords
    readonly archive: ErasableArchive
    readonly tenants: TenantRemoval
  }
  readonly clock: Clock
  readonly log: Logger
}

const LOOK_EVERY_MS = 60_000
const LEASE_MS = 5_000
const WAIT_MS = 60_000
/** A removal waits for the pipeline, which a stop ends too. */
const STOP_MS = 2_000
const RETRY_DELAY = { minMs: 5_000, maxMs: 300_000 }

/** Removes the made-up visits when no tenant shows them. After a kill, any process that has this service resumes the removal. */
export class SampleRemoval implements Service {
  readonly name = 'removal of sample data'
  readonly #options: SampleRemovalOptions
  readonly #loop: Loop

  constructor(options: SampleRemovalOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        await this.#round()
        return LOOK_EVERY_MS
      },
      failed: (err, delayMs) =>
        options.log.warn({ err, delay_ms: Math.round(delayMs), ...PASSING }, 'removal of sample data waits'),
      delay: RETRY_DELAY,
      unref: true,
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  /** Interrupts a removal: any process resumes it. */
  async stop(): Promise<void> {
    await Promise.race([this.#loop.stop(), pause(STOP_MS)])
  }

  /** Looks now. */
  wake(): void {
    this.#loop.wake()
  }

  async #round(): Promise<void> {
    const { admin, lease, endCopies, open, clock, log } = this.#options
    const all = await admin.listTenants()
    const held = all.find(({ id, sampleUntil }) => id === SAMPLE_TENANT && sampleUntil !== undefined)
    if (held === undefined || (!held.deleting && isShown(all))) return
    // Rules are being applied to stored events, or another process removes the visits.
    if (!(await lease.acquire(timeLimit(LEASE_MS, this.#loop.signal)))) return
    try {
      await endCopies()
      const onStep = () => this.#loop.signal.throwIfAborted()
      await deleteTenant(held.id, { ...open(), clock, onStep, waitMs: WAIT_MS })
      log.info('removed the sample data')
    } finally {
      await lease.release()
    }
  }
}
