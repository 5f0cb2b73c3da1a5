import { randomBytes } from 'node:crypto'
import { statfsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { BackupManifest } from '../../../schemas/backup.ts'
import type { ExportPeriod } from '../../../schemas/limits.ts'
import { lastDue, RETRY_MAX_MS, retryDelayMs } from '../../exports/schedule.ts'
import type { Clock } from '../../run/clock.ts'
import { cutText } from '../../run/cut-text.ts'
import { LeaseLostError, UnavailableError } from '../../run/errors.ts'
import { LeasedService } from '../../run/leased-service.ts'
import { type DelayBounds, Loop } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import { timeLimit } from '../../run/time-limit.ts'
import type { ShareLease } from '../../stores/redis/membership.ts'
import { AHEAD_MS, type BackupPlace, dueOf, isOfFuture, isSpooled, setName } from './place.ts'
import { type KeptBackup, type ScheduleState, writeSchedule } from './redis/schedule-store.ts'

/** Settings of scheduled backups. */
export interface BackupSchedule {
  readonly every: ExportPeriod
  /** HH:MM, UTC. */
  readonly at: string
  /** How many whole backups are kept. */
  readonly keep: number
}

interface ScheduledBackupsOptions {
  readonly lease: ShareLease
  /** The lease of the process that replaces, removes or copies stored events. */
  readonly rewriting: ShareLease
  readonly read: () => Promise<ScheduleState | undefined>
  /** `backupInstance`. */
  readonly instance: () => Promise<string>
  /** `ClickHouseTables.areMigrated`. */
  readonly areMigrated: () => Promise<boolean>
  readonly place: BackupPlace
  readonly schedule: BackupSchedule
  /**
   * Writes a whole backup into a new folder.
   * @param mayGoOn to be called often; throws to end the work
   */
  readonly write: (dir: string, mayGoOn: () => void, signal: AbortSignal) => Promise<BackupManifest>
  /** Folder of a backup that is not complete yet. */
  readonly spoolDir: string
  /** Called while a backup is written. @throws UnavailableError when others need the remaining room */
  readonly assertRoom: (spoolDir: string) => void
  readonly clock: Clock
  readonly log: Logger
  readonly onAttempt?: (result: 'done' | 'failed') => void
}

const NAME = 'backups'
const LOOK_EVERY_MS = 1_000
/** When backups are off there is little to look for. */
const OFF_EVERY_MS = 3_600_000
const LOOP_DELAY: DelayBounds = { minMs: 250, maxMs: 5_000 }
const LEASE_WAIT_MS = 5_000
const ERROR_MAX_CHARS = 500
/** A process that was paused for a shorter time may still finish its copy. */
const LEFTOVER_MS = 86_400_000

/** Forgets the schedule when backups are off. First waits until no process works that has BACKUP_URL. */
export function noScheduledBackups({
  lease,
  read,
  log,
}: Pick<ScheduledBackupsOptions, 'lease' | 'read' | 'log'>): Service {
  return new Loop({
    name: NAME,
    round: async (signal) => {
      if ((await read()) !== undefined && (await lease.acquire(signal))) {
        await writeSchedule(lease, undefined)
        await lease.release()
      }
      return OFF_EVERY_MS
    },
    leave: () => lease.release(),
    failed: (err, delayMs) =>
      log.warn({ err, delay_ms: Math.round(delayMs), ...PASSING }, 'the schedule of backups is forgotten later'),
    delay: LOOP_DELAY,
  })
}

/**
 * Writes backups that are due. One process at a time does this, under a lease. A backup is complete in `spoolDir` before its files
 * are copied to the place, the manifest last. Its name is made of the due time and of a random part: a process that was paused and
 * comes back writes no object of its successor.
 */
export class ScheduledBackups extends LeasedService {
  readonly #options: ScheduledBackupsOptions

  constructor(options: ScheduledBackupsOptions) {
    const problem = 'no backups are written at the moment; the last missed one is made up'
    super({ ...options, name: NAME, delay: LOOP_DELAY, problem })
    this.#options = options
  }

  protected override async takeOver(): Promise<void> {
    const { place, spoolDir } = this.#options
    // Left by a killed process. The folder itself may be a disk of its own.
    for (const name of await readdir(spoolDir).catch(() => [])) {
      if (isSpooled(name)) await rm(join(spoolDir, name), { recursive: true, force: true })
    }
    const state = await this.#state()
    if (state.attempt === undefined) return
    const left = (await place.sets()).find(({ name }) => name === state.attempt?.name)
    if (left?.isWhole) {
      const { name, dueMs, beganMs } = state.attempt
      const atMs = this.#options.clock.now()
      await this.#done(state, dueMs, { name, atMs, tookMs: atMs - beganMs, bytes: left.bytes })
    } else await this.#failed(state, new Error('the process ended while it wrote a backup'))
  }

  protected override async round(): Promise<number> {
    const { schedule, clock } = this.#options
    const state = await this.#state()
    const dueMs = lastDue(schedule, clock.now())
    if (dueMs > state.dueMs && clock.now() >= state.retryAtMs && (await this.#hasTables(state)))
      await this.#attempt(state, dueMs)
    return LOOK_EVERY_MS
  }

  /** At a first start the backup is due before a sink has made the tables. */
  async #hasTables({ last }: ScheduleState): Promise<boolean> {
    if (last !== undefined) return true
    // An attempt reports the fault of ClickHouse.
    return await this.#options.areMigrated().catch(() => true)
  }

  /** The state with the settings of this process. Another place begins anew, and so does a clock that was ahead. */
  async #state(): Promise<ScheduleState> {
    const { lease, place, read, schedule, clock } = this.#options
    const { every, at } = schedule
    const found = await read()
    const sinceMs = clock.now()
    const isAhead = found !== undefined && Math.max(found.dueMs, found.retryAtMs - RETRY_MAX_MS) > sinceMs + AHEAD_MS
    if (!isAhead && found?.place === place.location && found.every === every && found.at === at) return found
    const kept = !isAhead && found?.place === place.location ? found : { dueMs: 0, failures: 0, retryAtMs: 0 }
    const state: ScheduleState = { ...kept, place: place.location, every, at, sinceMs }
    await writeSchedule(lease, state)
    return state
  }

  async #attempt(state: ScheduleState, dueMs: number): Promise<void> {
    const { signal } = this
    const { lease, rewriting, place, write, instance, spoolDir, assertRoom, clock, log } = this.#options
    const name = setName(dueMs, randomBytes(4).toString('hex'))
    const dir = join(spoolDir, name)
    const beganMs = clock.now()
    const self = await instance()
    let isWhole = false
    await writeSchedule(lease, { ...state, attempt: { name, dueMs, beganMs } })
    try {
      await place.own(self, state.last?.name, beganMs)
      const wait = timeLimit(LEASE_WAIT_MS, signal)
      if (!(await rewriting.acquire(wait))) throw new UnavailableError('another command or job changes stored events')
      const mayGoOn = () => {
        signal.throwIfAborted()
        lease.assertHeld()
        rewriting.assertHeld()
        assertRoom(spoolDir)
      }
      let manifest: BackupManifest
      try {
        manifest = await write(dir, mayGoOn, signal)
      } finally {
        await rewriting.release()
      }
      const mayCopy = () => {
        signal.throwIfAborted()
        lease.assertHeld()
      }
      const bytes = await place.put(name, dir, manifest, self, mayCopy)
      isWhole = true
      await this.#done(state, dueMs, { name, atMs: clock.now(), tookMs: clock.now() - beganMs, bytes })
      log.info({ backup: name, place: place.location, bytes }, 'a backup is written')
    } catch (err) {
      // Redis still has the attempt, so `takeOver` finds a whole backup and notes it.
      if (err instanceof LeaseLostError || isWhole) throw err
      // A killed process cannot do this: `#trim` removes its leftovers.
      await place.removeAttempt(name).catch(() => {})
      if (signal.aborted) {
        await writeSchedule(lease, state)
        throw err
      }
      await this.#failed(state, err as Error)
      return
    } finally {
      // Not the whole folder: after a pause it may have that of a successor.
      await rm(dir, { recursive: true, force: true })
    }
    await this.#trim(self, dueMs).catch((err) => this.#notRemoved(err))
  }

  async #done(state: ScheduleState, dueMs: number, last: KeptBackup): Promise<void> {
    const { lease, onAttempt } = this.#options
    const { attempt: _, error: __, ...kept } = state
    await writeSchedule(lease, { ...kept, dueMs, failures: 0, retryAtMs: 0, last })
    onAttempt?.('done')
  }

  async #failed(state: ScheduleState, err: Error): Promise<void> {
    const { lease, clock, log, onAttempt } = this.#options
    const { attempt: _, ...kept } = state
    const failures = state.failures + 1
    const error = { atMs: clock.now(), message: cutText(err.message, ERROR_MAX_CHARS) }
    await writeSchedule(lease, { ...kept, failures, retryAtMs: error.atMs + retryDelayMs(failures), error })
    onAttempt?.('failed')
    log.warn({ err, ...PASSING }, 'a backup is tried again later')
  }

  /**
   * Removes the oldest backups above the number to keep, and leftovers of killed processes. The newest whole one always stays. Those
   * of a time when the clock was ahead are not counted until it comes.
   */
  async #trim(instance: string, dueMs: number): Promise<void> {
    const { place, clock } = this.#options
    await place.assertOwnedBy(instance)
    const nowMs = clock.now()
    const sets = (await place.sets()).filter((set) => !isOfFuture(set, nowMs))
    const whole = sets.filter(({ isWhole }) => isWhole)
    const left = sets.filter(({ name, isWhole }) => !isWhole && dueOf(name) <= dueMs - LEFTOVER_MS)
    for (const set of [...whole.slice(0, -this.#options.schedule.keep), ...left]) {
      this.#options.lease.assertHeld()
      // One that cannot be removed keeps no other one.
      await place.remove(set).catch((err) => this.#notRemoved(err, set.name))
    }
  }

  #notRemoved(err: Error, backup?: string): void {
    if (err instanceof LeaseLostError) throw err
    this.#options.log.warn({ err, backup, ...PASSING }, 'old backups are removed after the next backup')
  }
}

/** Left free on the disk of the spool: Redis stops taking events and the embedded ClickHouse ends where a disk is full. */
const KEPT_FREE = { share: 0.04, minBytes: 134_217_728, maxBytes: 2_147_483_648 }

/** @throws UnavailableError when the disk of a folder has no more room for a backup; never when the folder does not exist yet */
export function assertRoom(folder: string, facts: typeof statfsSync = statfsSync): void {
  let disk: ReturnType<typeof statfsSync>
  try {
    disk = facts(folder)
  } catch {
    return
  }
  const { blocks, bavail, bsize } = disk
  const { share, minBytes, maxBytes } = KEPT_FREE
  const kept = Math.min(maxBytes, Math.max(minBytes, blocks * bsize * share))
  if (bavail * bsize >= kept) return
  throw new UnavailableError(
    `a backup leaves ${Math.round(kept / 2 ** 20)} MiB free on the disk of ${folder}, and ${Math.floor((bavail * bsize) / 2 ** 20)} MiB are left: make room, or mount a larger disk there`,
  )
}
