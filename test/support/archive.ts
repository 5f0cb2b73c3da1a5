import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { indexKey, type PartLocation, parsePartKey, partKey } from '../../src/pipeline/sinks/archive/layout.ts'
import type { PartIndex } from '../../src/pipeline/sinks/archive/part.ts'
import type { ObjectStore } from '../../src/stores/objects/object-store.ts'

/** A line of the archive: the event as sent, and our data about it. */
export interface ArchivedEvent {
  readonly receivedAt: string
  readonly eventId: string
  readonly status: string
  /** The event as it was sent. */
  readonly sent: Record<string, unknown>
}

export interface ArchivedPart {
  readonly location: PartLocation
  readonly events: readonly ArchivedEvent[]
  readonly index: PartIndex
}

/** Reads a whole archive, and checks every part against its index. */
export async function readArchive(store: ObjectStore): Promise<ArchivedPart[]> {
  const parts: ArchivedPart[] = []
  for await (const { key } of store.list('tenant=')) {
    const location = parsePartKey(key)
    if (location === undefined || key !== partKey(location)) throw new Error(`${key} is no part`)
    const index = JSON.parse(String(await readObject(store, indexKey(location)))) as PartIndex
    const text = String(await readObject(store, key))
    const lines = text.split('\n').slice(0, -1)
    const indexed = index.entries.reduce((sum, [, , , count]) => sum + count, 0)
    const requested = index.requests?.reduce((sum, [, count]) => sum + count, 0) ?? index.lines
    if (requested !== index.lines) throw new Error(`${key} has ${requested} lines of requests`)
    if (lines.length !== index.lines || indexed !== index.lines || Buffer.byteLength(text) !== index.bytes) {
      throw new Error(`${key} is not what its index says`)
    }
    parts.push({ location, events: lines.map(parseLine), index })
  }
  return parts
}

export async function readObject(store: ObjectStore, key: string): Promise<Buffer> {
  const stream = await store.get(key)
  if (stream === undefined) throw new Error(`there is no ${key}`)
  return gunzipSync(await buffer(stream))
}

function parseLine(line: string): ArchivedEvent {
  const { _received_at: receivedAt, _event_id: eventId, _status: status, _sent: more, ...sent } = JSON.parse(line)
  return { receivedAt, eventId, status, sent: { ...sent, ...more } }
}
