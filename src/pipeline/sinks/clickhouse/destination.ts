import { connectClickHouse, DATABASE } from '../../../stores/clickhouse/client.ts'
import { migrate } from '../../../stores/clickhouse/migrate.ts'
import { EVENTS, OUTCOMES, type TargetTable } from '../../../stores/clickhouse/tables.ts'
import type { Destination } from '../../declaration/destination.ts'
import { TableInserter } from './inserter.ts'

/** The tables that analysts query: all but one are views over `events`. */
export const clickhouse = into(EVENTS, 'clickhouse')

/** What became of events that are not stored, as sums. */
export const clickhouseOutcomes = into(OUTCOMES, 'clickhouse outcomes')

function into(table: TargetTable, name: string): Destination {
  return {
    name,
    open({ clickhouseUrl, clickhouseCluster: cluster, log }) {
      const client = connectClickHouse(clickhouseUrl, { application: 'sink', database: DATABASE })
      return new TableInserter(table, client, () => migrate(clickhouseUrl, log, { cluster }), cluster)
    },
  }
}
