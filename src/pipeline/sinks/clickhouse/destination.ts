import { connectClickHouse, DATABASE } from '../../../stores/clickhouse/client.ts'
import { migrate } from '../../../stores/clickhouse/migrate.ts'
import { EVENTS, OUTCOMES, type TargetTable } from '../../../stores/clickhouse/tables.ts'
import type { Destination } from '../../declaration/destination.ts'
import { TableInserter } from './inserter.ts'

/** Writes the table `events`. Most other tables of analysts are views over it. */
export const clickhouse = into(EVENTS, 'clickhouse')

/** Writes counts of the events that are not stored. */
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
