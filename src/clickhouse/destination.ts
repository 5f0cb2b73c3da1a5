import type { Destination } from '../core/pipeline/destination.ts'
import { connectClickHouse, DATABASE } from './client.ts'
import { EventInserter } from './inserter.ts'
import { migrate } from './migrate.ts'

/** The tables that analysts query. */
export const clickhouse: Destination = {
  name: 'clickhouse',
  open({ clickhouseUrl, log }) {
    const client = connectClickHouse(clickhouseUrl, { application: 'sink', database: DATABASE })
    return new EventInserter(client, () => migrate(clickhouseUrl, log))
  },
}
