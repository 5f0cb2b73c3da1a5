import type { HomeWeek } from '../../companies/home.ts'
import type { Segment } from '../../companies/segments/segments.ts'
import { openDue } from '../../exports/schedule.ts'
import type { Clock } from '../../run/clock.ts'
import { LeaseLostError } from '../../run/errors.ts'
import type { ZoneOf } from '../../run/time-zone.ts'
import type { MessageContext } from '../messages.ts'
import type { Digest } from '../redis/alert-store.ts'
import type { RedisOccurrences } from '../redis/occurrence-store.ts'
import { isEmpty, type ReadWeek, weekMessage } from './week.ts'

interface DigestWriterOptions {
  readonly occurrences: Pick<RedisOccurrences, 'progress' | 'sendDigest'>
  readonly readWeek: ReadWeek
  readonly contextOf: (digest: Digest, segments: ReadonlyMap<string, Segment>) => MessageContext
  readonly zoneOf: ZoneOf
  readonly clock: Clock
}

/** A digest whose week could not be read waits, because its query may be a heavy one. */
const RETRY_MS = 60_000

/**
 * Writes the messages of digests that are due, one for each due time. After down time, the last one that was missed is made up: those before
 * would say the same of older weeks.
 */
export class DigestWriter {
  readonly #options: DigestWriterOptions
  /** When a digest that failed is tried again, ms, by id. */
  readonly #retryAtMs = new Map<string, number>()

  constructor(options: DigestWriterOptions) {
    this.#options = options
  }

  /**
   * A digest that fails keeps no other from being sent.
   * @param digests of one tenant, not paused
   * @param segments all of its, by id
   * @throws the error of the first digest that failed, after all others were tried; `LeaseLostError` at once
   */
  async write(digests: readonly Digest[], segments: ReadonlyMap<string, Segment>): Promise<void> {
    const { clock } = this.#options
    // Subscribers of the same digest share one query.
    const weeks = new Map<string, HomeWeek>()
    const failures: unknown[] = []
    for (const digest of digests) {
      if (clock.now() < (this.#retryAtMs.get(digest.id) ?? 0)) continue
      try {
        await this.#write(digest, segments, weeks)
        this.#retryAtMs.delete(digest.id)
      } catch (error) {
        if (error instanceof LeaseLostError) throw error
        failures.push(error)
        this.#retryAtMs.set(digest.id, clock.now() + RETRY_MS)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  async #write(digest: Digest, segments: ReadonlyMap<string, Segment>, weeks: Map<string, HomeWeek>): Promise<void> {
    const { occurrences, readWeek, contextOf, zoneOf, clock } = this.#options
    const zone = await zoneOf(digest.tenantId)
    const { digestMs } = await occurrences.progress(digest.id)
    const dueMs = openDue(digest, { dueMs: digestMs }, clock.now(), zone)
    const where = digest.segment_id === undefined ? undefined : segments.get(digest.segment_id)?.where
    // The caller pauses a digest whose segment is gone.
    if (dueMs === undefined || (digest.segment_id !== undefined && where === undefined)) return
    const key = JSON.stringify([where, dueMs])
    const week = weeks.get(key) ?? (await readWeek(digest.tenantId, where, dueMs))
    weeks.set(key, week)
    const message = weekMessage(digest, week, contextOf(digest, segments), dueMs)
    const messages = isEmpty(week) && digest.sends_empty !== true ? 0 : 1
    await occurrences.sendDigest(digest, messages, message, dueMs, clock.now())
  }
}
