import type { ClickHouseClient } from '@clickhouse/client'
import { ArchiveEvents } from '../archive/archived-events.ts'
import { openObjectStore } from '../archive/destination.ts'
import type { ObjectStore } from '../archive/object-store.ts'
import { ClickHouseStoredEvents } from '../clickhouse/stored-events.ts'
import type { ArchivePlace } from '../core/pipeline/destination.ts'
import type { Pipeline } from '../core/pipeline/pipeline.ts'
import type { Clock } from '../core/run/clock.ts'
import { UnavailableError } from '../core/run/errors.ts'
import type { StoredEvents } from '../receipts/ports.ts'
import { Receipts } from '../receipts/receipts.ts'
import type { RedisClient } from '../redis/connect.ts'
import { RedisMovingEvents } from '../redis/streams/moving-events.ts'

/** The stores that know of events. */
export interface ReceiptStores {
  readonly redis: RedisClient
  /** Of the database `ipid`; undefined: nobody has said where it is. */
  readonly clickhouse: ClickHouseClient | undefined
  readonly archivePlace: ArchivePlace
  readonly pipeline: Pipeline
  readonly partitions: number
  readonly clock: Clock
}

const noTables: StoredEvents = {
  find: async () => {
    throw new UnavailableError('this process knows no ClickHouse: set CLICKHOUSE_URL')
  },
}

/** @returns what says what became of events, and how to end it; the clients of Redis and ClickHouse stay open */
export function receiptsOf(stores: ReceiptStores): { readonly receipts: Receipts; close(): Promise<void> } {
  const { redis: client, clickhouse, archivePlace, pipeline, partitions, clock } = stores
  let store: ObjectStore | undefined
  const open = () => {
    store ??= openObjectStore(archivePlace)
    return store
  }
  const receipts = new Receipts({
    moving: new RedisMovingEvents({ client, pipeline, partitions, clock }),
    stored: clickhouse === undefined ? noTables : new ClickHouseStoredEvents(clickhouse),
    archive: new ArchiveEvents(open),
    clock,
  })
  return {
    receipts,
    async close() {
      store?.abort()
      await store?.close()
    },
  }
}
