import type { ClickHouseClient } from '@clickhouse/client'
import type { ArchiveLocation } from '../../pipeline/declaration/destination.ts'
import type { Pipeline } from '../../pipeline/declaration/pipeline.ts'
import { openObjectStore } from '../../pipeline/sinks/archive/destination.ts'
import type { Clock } from '../../run/clock.ts'
import { UnavailableError } from '../../run/errors.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { RedisMovingEvents } from '../dead-letters/moving-events.ts'
import { ClickHouseStoredEvents } from '../reenrich/stored-events.ts'
import { ArchiveEvents } from '../replay/archived-events.ts'
import type { StoredEvents } from './ports.ts'
import { Receipts } from './receipts.ts'

/** The stores that have receipts. */
interface ReceiptStores {
  readonly redis: RedisClient
  /** Client of the database `ipid`; undefined: CLICKHOUSE_URL is unknown. */
  readonly clickhouse: ClickHouseClient | undefined
  readonly archiveLocation: ArchiveLocation
  readonly pipeline: Pipeline
  readonly partitions: number
  readonly clock: Clock
}

const noTables: StoredEvents = {
  find: async () => {
    throw new UnavailableError('this process does not know ClickHouse: set CLICKHOUSE_URL')
  },
}

/** @returns the receipts, and a function that ends them; the clients of Redis and ClickHouse stay open */
export function receiptsOf(stores: ReceiptStores): { readonly receipts: Receipts; close(): Promise<void> } {
  const { redis: client, clickhouse, archiveLocation, pipeline, partitions, clock } = stores
  let store: ObjectStore | undefined
  const open = () => {
    store ??= openObjectStore(archiveLocation)
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
