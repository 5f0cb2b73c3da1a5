import type { ClickHouseClient } from '@clickhouse/client'
import { type EventReceipt, RECEIPTS_MAX } from '../../../schemas/api/receipt.ts'
import { unavailable } from '../../stores/clickhouse/failures.ts'
import { HIDDEN } from '../../stores/clickhouse/tables.ts'
import type { EventKey, StoredEvents } from '../receipts/ports.ts'

const QUERY_SECONDS_MAX = 5
/** Leaves cores to other queries and inserts. */
const THREADS_MAX = 2

const WHERE_EVENT = 'WHERE tenant_id = {tenant:String} AND event_id = {event:String}'

const QUERY = `
  SELECT toUnixTimestamp64Milli(received_at) AS received_ms, job_id, request_id, classification, is_hidden, hidden_rule
  FROM
  (
    SELECT received_at, job_id, request_id, classification, false AS is_hidden, '' AS hidden_rule
    FROM events ${WHERE_EVENT}
    UNION ALL
    SELECT received_at, job_id, request_id, classification, true AS is_hidden, hidden_rule
    FROM ${HIDDEN} ${WHERE_EVENT}
  )
  ORDER BY received_at DESC
  LIMIT {limit:UInt32}`

interface StoredRow {
  readonly received_ms: number
  readonly job_id: string
  readonly request_id: string
  readonly classification: string
  readonly is_hidden: boolean
  readonly hidden_rule: string
}

/** Finds events in the tables of stored and of hidden events. */
export class ClickHouseStoredEvents implements StoredEvents {
  readonly #client: ClickHouseClient

  /** @param client of the database `ipid` */
  constructor(client: ClickHouseClient) {
    this.#client = client
  }

  async find({ tenantId, eventId }: EventKey): Promise<readonly EventReceipt[]> {
    try {
      const result = await this.#client.query({
        query: QUERY,
        query_params: { tenant: tenantId, event: eventId, limit: RECEIPTS_MAX },
        format: 'JSONEachRow',
        clickhouse_settings: {
          max_execution_time: QUERY_SECONDS_MAX,
          max_threads: THREADS_MAX,
          output_format_json_quote_64bit_integers: 0,
        },
      })
      return (await result.json<StoredRow>()).map(receiptOf)
    } catch (error) {
      throw unavailable(error)
    }
  }
}

function receiptOf({
  received_ms,
  job_id,
  request_id,
  classification,
  is_hidden,
  hidden_rule,
}: StoredRow): EventReceipt {
  return {
    status: is_hidden ? 'hidden' : 'stored',
    received_at: new Date(received_ms).toISOString(),
    lane: job_id === '' ? 'live' : 'batch',
    ...(request_id !== '' && { request_id }),
    ...(job_id !== '' && { job_id }),
    ...(classification !== '' && { classification }),
    ...(hidden_rule !== '' && { reason: hidden_rule }),
  }
}
