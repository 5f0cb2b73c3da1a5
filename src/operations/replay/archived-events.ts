import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { type EventReceipt, RECEIPTS_MAX } from '../../../schemas/api/receipt.ts'
import { indexKey, type PartLocation, parsePartKey, partKey } from '../../pipeline/sinks/archive/layout.ts'
import { type FoundLine, LineFinder } from '../../pipeline/sinks/archive/line-finder.ts'
import { type PartIndex, readIndex } from '../../pipeline/sinks/archive/part.ts'
import { UnavailableError } from '../../run/errors.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import type { ArchivedEvents, EventKey, Found } from '../receipts/ports.ts'

/** Limits of one search. */
const PARTS_MAX = 32
const BYTES_MAX = 33_554_432
const LISTED_MAX = 5_000
const HOUR_MS = 3_600_000
/** The longest time between an event's receipt and its stream entry, which names the part: commit delay and clock skew. */
const COMMIT_SLACK_MS = 10_000

interface Candidate {
  readonly location: PartLocation
  readonly bytes: number
  /** Smaller means more likely to hold the event. */
  readonly distanceMs: number
}

/**
 * Finds events in the archive. The archive has no index by event id, so this reads the parts nearest to the known times first,
 * up to the limits of a search.
 */
export class ArchiveEvents implements ArchivedEvents {
  readonly #store: () => ObjectStore

  /** @param store called at the first search */
  constructor(store: () => ObjectStore) {
    this.#store = store
  }

  async find(key: EventKey, known: readonly EventReceipt[], aroundMs: readonly number[]): Promise<Found> {
    const { candidates, complete } = await this.#candidates(key.tenantId, known, aroundMs)
    const receipts: EventReceipt[] = []
    let parts = 0
    let bytes = 0
    for (const { location, bytes: size } of candidates) {
      if (parts >= PARTS_MAX || bytes >= BYTES_MAX || receipts.length >= RECEIPTS_MAX) {
        return { receipts, complete: false }
      }
      parts++
      bytes += size
      receipts.push(...(await this.#readPart(location, key.eventId)))
    }
    return { receipts, complete }
  }

  /** Parts of the known hours and batch jobs. */
  async #candidates(tenantId: string, known: readonly EventReceipt[], aroundMs: readonly number[]) {
    const times = [...aroundMs]
    const folders = new Set<string>()
    for (const { received_at: text, job_id: job } of known) {
      if (text === undefined) continue
      if (job === undefined) times.push(Date.parse(text))
      else folders.add(`tenant=${tenantId}/day=${text.slice(0, 10)}/source=batch/run=${job}/`)
    }
    for (const ms of times) {
      // A part belongs to the hour of receipt. The known time may be that of the stream entry, which is a little later.
      for (const at of [ms, ms - HOUR_MS, ms - COMMIT_SLACK_MS]) {
        const hour = new Date(at).toISOString().slice(0, 13)
        folders.add(`tenant=${tenantId}/day=${hour.slice(0, 10)}/source=ingest/run=${hour}/`)
      }
    }
    const candidates: Candidate[] = []
    let listed = 0
    for (const folder of folders) {
      for await (const { key, bytes } of this.#store().list(folder)) {
        if (++listed > LISTED_MAX) return { candidates: byDistance(candidates), complete: false }
        const location = parsePartKey(key)
        if (location !== undefined) candidates.push({ location, bytes, distanceMs: distanceOf(location, times) })
      }
    }
    return { candidates: byDistance(candidates), complete: true }
  }

  async #readPart(location: PartLocation, eventId: string): Promise<EventReceipt[]> {
    const stream = await this.#store().get(partKey(location))
    if (stream === undefined) return []
    const finder = new LineFinder(eventId)
    for await (const chunk of unzipped(stream)) finder.push(chunk)
    if (finder.lines.length === 0) return []
    const requests = location.source === 'ingest' ? await this.#requestsOf(location) : []
    return finder.lines.map((line) => receiptOf(line, location, requests))
  }

  async #requestsOf(location: PartLocation): Promise<NonNullable<PartIndex['requests']>> {
    const stream = await this.#store().get(indexKey(location))
    if (stream === undefined) return []
    const text = await buffer(unzipped(stream))
    return readIndex(text.toString('utf8'), partKey(location)).requests ?? []
  }
}

function byDistance(candidates: Candidate[]): Candidate[] {
  return candidates.sort((a, b) => a.distanceMs - b.distanceMs)
}

/** A part's name holds the time of its first entry, so it rarely holds earlier events. */
function distanceOf({ name, source }: PartLocation, times: readonly number[]): number {
  if (source === 'batch') return 0
  const beganMs = Number(name.split('-')[1])
  return Math.min(
    ...times.map((ms) => {
      const afterMs = ms + COMMIT_SLACK_MS - beganMs
      return afterMs >= 0 ? afterMs : HOUR_MS - afterMs
    }),
  )
}

async function* unzipped(stream: Readable): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  stream.on('error', (error) => gunzip.destroy(error))
  try {
    for await (const chunk of stream.pipe(gunzip)) yield chunk as Buffer
  } catch (error) {
    throw new UnavailableError('the archive did not answer', { cause: error })
  } finally {
    stream.destroy()
  }
}

function receiptOf(
  { line, receivedAt, status }: FoundLine,
  location: PartLocation,
  requests: readonly (readonly [string, number])[],
): EventReceipt {
  const requestId = requestOf(requests, line)
  return {
    status: status === 'ok' ? 'accepted' : status,
    received_at: receivedAt,
    lane: location.source === 'ingest' ? 'live' : 'batch',
    ...(requestId !== '' && { request_id: requestId }),
    ...(location.source === 'batch' && { job_id: location.run }),
    archived: partKey(location),
  }
}

/** @param line from 0 */
function requestOf(requests: readonly (readonly [string, number])[], line: number): string {
  let end = 0
  for (const [id, lines] of requests) {
    end += lines
    if (line < end) return id
  }
  return ''
}
