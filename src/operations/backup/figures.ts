import type { BackupFigures } from '../../../schemas/backup.ts'
import { EVENTS, OUTCOMES } from '../../stores/clickhouse/tables.ts'
import type { TableShape } from './ports.ts'

/*
 * Figures of a backup, for a check to compare with the restored instance. They are counted from the lines on their way
 * to the files: a query of its own would see other rows, because everything keeps running.
 */

/** Distinct values are counted by the last 26 bits of their CRC-32: exact on both sides, in 8 MiB. */
export const DISTINCT_MASK = 2 ** 26 - 1

const [TAB, LINE_FEED] = [9, 10]

const EVENT_COLUMNS = ['event_id', 'company_id', 'tenant_id', 'job_id', 'received_at']
const OUTCOME_COLUMNS = ['events']

export type EventFigures = BackupFigures['events']

/** Figures of the lines of a table. */
export interface LineMeter<T> {
  /** @param piece of lines; may end within one */
  push(piece: Buffer): void
  figures(): T
}

/** Figures of the table `events`. */
export function meterEvents({ columns }: Pick<TableShape, 'columns'>): LineMeter<EventFigures> {
  const [ids, companies, tenants] = [new DistinctHashes(), new DistinctHashes(), new DistinctHashes()]
  let [rows, ofJobs, first, last, checksum] = [0, 0, '', '', 0]
  const lines = new Lines(columns, EVENT_COLUMNS, (line, [id, company, tenant, job, receivedAt]) => {
    rows++
    checksum ^= crc32(line)
    ids.add(id!)
    companies.add(company!)
    tenants.add(tenant!)
    if (job!.length > 0) ofJobs++
    const received = receivedAt!.toString('latin1')
    if (first === '' || received < first) first = received
    if (received > last) last = received
  })
  return {
    push: (piece) => lines.push(piece),
    figures: () => ({
      ...{ rows, ids: ids.count, companies: companies.count, tenants: tenants.count, of_jobs: ofJobs },
      ...{ first_received: first, last_received: last, checksum: checksum >>> 0 },
    }),
  }
}

/** The sum of the table of outcomes. */
export function meterOutcomes({ columns }: Pick<TableShape, 'columns'>): LineMeter<number> {
  let sum = 0
  const lines = new Lines(columns, OUTCOME_COLUMNS, (_line, [events]) => {
    sum += Number(events!.toString('latin1'))
  })
  return { push: (piece) => lines.push(piece), figures: () => sum }
}

/** The meters of the tables that have one. A table that lacks the columns, from an earlier version, has none. */
export class TableMeters {
  #events: LineMeter<EventFigures> | undefined
  #outcomes: LineMeter<number> | undefined

  of(shape: TableShape): LineMeter<unknown> | undefined {
    const has = (wanted: readonly string[]) => wanted.every((name) => shape.columns.includes(name))
    if (shape.table === EVENTS.name && has(EVENT_COLUMNS)) {
      this.#events = meterEvents(shape)
      return this.#events
    }
    if (shape.table !== OUTCOMES.name || !has(OUTCOME_COLUMNS)) return undefined
    this.#outcomes = meterOutcomes(shape)
    return this.#outcomes
  }

  figures(): Pick<BackupFigures, 'events' | 'outcomes'> | undefined {
    if (this.#events === undefined || this.#outcomes === undefined) return undefined
    return { events: this.#events.figures(), outcomes: this.#outcomes.figures() }
  }
}

/** Cuts pieces into lines of TabSeparated, with the wanted fields of each as they are written. */
class Lines {
  readonly #wanted: readonly number[]
  readonly #onLine: (line: Buffer, fields: readonly Buffer[]) => void
  #rest: Buffer[] = []

  /** @param wanted some of the columns */
  constructor(
    columns: readonly string[],
    wanted: readonly string[],
    onLine: (line: Buffer, fields: readonly Buffer[]) => void,
  ) {
    this.#wanted = wanted.map((name) => columns.indexOf(name))
    this.#onLine = onLine
  }

  push(piece: Buffer): void {
    let start = 0
    for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, start)) {
      const part = piece.subarray(start, end + 1)
      const line = this.#rest.length === 0 ? part : Buffer.concat([...this.#rest, part])
      this.#rest = []
      this.#onLine(line, this.#fieldsOf(line))
      start = end + 1
    }
    // Copied, because the caller may use the memory of a piece again.
    if (start < piece.length) this.#rest.push(Buffer.from(piece.subarray(start)))
  }

  #fieldsOf(line: Buffer): Buffer[] {
    const last = Math.max(...this.#wanted)
    const starts = [0]
    while (starts.length <= last + 1) {
      const tab = line.indexOf(TAB, starts.at(-1))
      starts.push(tab < 0 ? line.length : tab + 1)
      if (tab < 0) break
    }
    return this.#wanted.map((column) => line.subarray(starts[column] ?? 0, (starts[column + 1] ?? 1) - 1))
  }
}

/** Counts distinct values by their hashes. */
class DistinctHashes {
  readonly #seen = new Uint8Array((DISTINCT_MASK + 1) / 8)
  count = 0

  add(field: Buffer): void {
    const hash = crc32(LINE_END, crc32(field)) & DISTINCT_MASK
    const bit = 1 << (hash & 7)
    if ((this.#seen[hash >>> 3]! & bit) !== 0) return
    this.#seen[hash >>> 3]! |= bit
    this.count++
  }
}

const LINE_END = Buffer.from('\n')

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

/** As ClickHouse's `CRC32`. Node.js 20.12 has none in zlib. @param before of the bytes before these */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before
  for (let at = 0; at < bytes.length; at++) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ bytes[at]!) & 0xff]!
  return ~crc >>> 0
}
