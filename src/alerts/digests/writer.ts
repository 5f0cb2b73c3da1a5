import type { HomeWeek } from '../../companies/home.ts'
import type { Segment } from '../../companies/segments/segments.ts'
import { openDue } from '../../exports/schedule.ts'
import type { Clock } from '../../run/clock.ts'
import type { MessageContext } from '../messages.ts'
import type { Digest } from '../redis/alert-store.ts'
import type { RedisOccurrences } from '../redis/occurrence-store.ts'
import { isEmpty, type ReadWeek, weekMessage } from './week.ts'

interface DigestWriterOptions {
  readonly occurrences: Pick<RedisOccurrences, 'progress' | 'sendDigest'>
  readonly readWeek: ReadWeek
  readonly contextOf: (digest: Digest, segments: ReadonlyMap<string, Segment>) => MessageContext
  readonly clock: Clock
}

/**
 * Writes the messages of digests that are due, one for each due time. After down time, the last one that was missed is made up: those before
 * would say the same of older weeks.
 */
export class DigestWriter {
  readonly #options: DigestWriterOptions

  constructor(options: DigestWriterOptions) {
    this.#options = options
  }

  /** @param digests of one tenant, not paused @param segments all of its, by id */
  async write(digests: readonly Digest[], segments: ReadonlyMap<string, Segment>): Promise<void> {
    const { occurrences, readWeek, contextOf, clock } = this.#options
    // Subscribers of the same digest share one query.
    const weeks = new Map<string, HomeWeek>()
    for (const digest of digests) {
      const { digestMs } = await occurrences.progress(digest.id)
      const dueMs = openDue(digest, { dueMs: digestMs }, clock.now())
      const where = digest.segment_id === undefined ? undefined : segments.get(digest.segment_id)?.where
      // The caller pauses a digest whose segment is gone.
      if (dueMs === undefined || (digest.segment_id !== undefined && where === undefined)) continue
      const key = JSON.stringify([where, dueMs])
      const week = weeks.get(key) ?? (await readWeek(digest.tenantId, where, dueMs))
      weeks.set(key, week)
      const message = weekMessage(digest, week, contextOf(digest, segments), dueMs)
      const messages = isEmpty(week) && digest.sends_empty !== true ? 0 : 1
      await occurrences.sendDigest(digest, messages, message, dueMs, clock.now())
    }
  }
}
