import type { ClickHouseClient } from '@clickhouse/client'
import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { DAY_MS, utcDay } from '../../pipeline/event/outcomes.ts'
import { Loop } from '../../run/loop.ts'
import type { Service } from '../../run/service.ts'
import { missingTable } from '../../stores/clickhouse/failures.ts'
import { HIDDEN } from '../../stores/clickhouse/tables.ts'
import { EVENTS_MIN, INFRASTRUCTURES, PROXIED_SHARE, type Proxied, proxiedRemedy, proxiedText } from './proxied.ts'

/** Senders of an answer, those with most events first. */
const SENDERS_MAX = 100

/** Reads the projections `source_days`, `source_hours` and `hidden_days`. The same rule as `proxiedOf`. */
const sendersSql = (where: string) => `
  SELECT
    tenant_id, source_id,
    argMaxIf(class, n, class IN {classes:Array(String)}) AS by,
    maxIf(n, class IN {classes:Array(String)}) AS by_events,
    sumIf(n, class IN {classes:Array(String)}) AS events,
    sum(n) AS all
  FROM
  (
    SELECT tenant_id, source_id, class, sum(events) AS n
    FROM
    (
      SELECT
        tenant_id, source_id,
        if(status = '${OUTCOME_STATUS.filtered}' AND reason = '', classification, '') AS class,
        sum(events) AS events
      FROM outcomes
      WHERE day >= {yesterday:Date32} AND status NOT IN ('duplicates', '${OUTCOME_STATUS.noPage}') AND ${where}
      GROUP BY tenant_id, source_id, status, reason, classification
      UNION ALL
      SELECT tenant_id, source_id, '' AS class, toInt64(count()) AS events
      FROM events
      WHERE toStartOfHour(received_at) >= toDateTime({seconds:UInt32}, 'UTC') AND ${where}
      GROUP BY tenant_id, source_id
      UNION ALL
      SELECT tenant_id, source_id, '' AS class, toInt64(count()) AS events
      FROM ${HIDDEN}
      WHERE toDate32(received_at) >= {yesterday:Date32} AND ${where}
      GROUP BY tenant_id, source_id
    )
    GROUP BY tenant_id, source_id, class
  )
  GROUP BY tenant_id, source_id
  HAVING events >= {least:UInt32} AND events >= {share:Float64} * all
  ORDER BY events DESC
  LIMIT ${SENDERS_MAX}`

/** A sender most of whose events since yesterday 0:00 UTC come from infrastructure. */
export interface ProxiedSender extends Proxied {
  readonly tenant_id: string
  /** `''`: API keys. */
  readonly source_id: string
}

/**
 * @param client of the database `ipid`
 * @param tenantId undefined: all tenants
 * @param signal ends it
 */
export async function readProxiedSenders(
  client: ClickHouseClient,
  nowMs: number,
  tenantId?: string,
  signal?: AbortSignal,
): Promise<readonly ProxiedSender[]> {
  const yesterday = utcDay(nowMs - DAY_MS)
  try {
    const result = await client.query({
      query: sendersSql(tenantId === undefined ? '1' : 'tenant_id = {tenant:String}'),
      query_params: {
        ...{ yesterday, seconds: Date.parse(yesterday) / 1_000, classes: INFRASTRUCTURES },
        ...{ least: EVENTS_MIN, share: PROXIED_SHARE, ...(tenantId !== undefined && { tenant: tenantId }) },
      },
      format: 'JSONEachRow',
      ...(signal && { abort_signal: signal }),
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    })
    return await result.json<ProxiedSender>()
  } catch (error) {
    throw missingTable(error) ?? error
  }
}

/** A warning about the sender with most events, for people; undefined: there is none. */
export function warningOf([sender]: readonly ProxiedSender[]):
  | { text: string; network: string; share: number }
  | undefined {
  if (sender === undefined) return undefined
  const { tenant_id: tenant, source_id: source, by, events, all } = sender
  const seen = proxiedText(sender, 'since yesterday ')
  const text =
    source === ''
      ? `${seen} ${proxiedRemedy(sender)}`
      : `Source ${source}: ${seen} Its line on the page Sources, and ./ipid source list ${tenant}, say what to do.`
  return { text, network: by, share: events / all }
}

interface ProxiedWatchOptions {
  readonly read: () => Promise<readonly ProxiedSender[]>
  readonly metrics: Registry
  readonly log: Logger
  /** Default: a minute. */
  readonly everyMs?: number
}

const EVERY_MS = 60_000
/** Maximum share of time spent on reading. */
const COST_SHARE = 1 / 200

/** Finds the proxied senders of all tenants every minute, for the metrics and the log. */
export class ProxiedWatch implements Service {
  readonly name = 'proxied senders'
  readonly #options: ProxiedWatchOptions
  readonly #loop: Loop
  #found: readonly ProxiedSender[] = []

  constructor(options: ProxiedWatchOptions) {
    this.#options = options
    const { metrics, log, everyMs = EVERY_MS } = options
    this.#loop = new Loop({
      name: this.name,
      round: async () => {
        const startedAtMs = performance.now()
        await this.#look()
        return Math.max(everyMs, (performance.now() - startedAtMs) / COST_SHARE)
      },
      failed: (err) => log.debug({ err }, 'reading proxied senders failed; trying again later'),
      delay: { minMs: everyMs, maxMs: everyMs },
    })
    const found = () => this.#found
    new Gauge({
      name: 'ipid_tenant_one_network_share',
      help: 'Share of the events of a sender since yesterday from infrastructure, if it is nearly all of them, by its largest class',
      labelNames: ['tenant', 'source', 'network'],
      aggregator: 'max',
      registers: [metrics],
      collect() {
        this.reset()
        for (const { tenant_id: tenant, source_id: source, by, events, all } of found()) {
          this.set({ tenant, source, network: by }, events / all)
        }
      },
    })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #look(): Promise<void> {
    const before = new Set(this.#found.map(nameOf))
    this.#found = await this.#options.read()
    for (const sender of this.#found.filter((one) => !before.has(nameOf(one)))) {
      const { tenant_id: tenant, source_id: source, by } = sender
      this.#options.log.warn({ tenant, source, network: by }, warningOf([sender])!.text)
    }
  }
}

function nameOf({ tenant_id, source_id, by }: ProxiedSender): string {
  return `${tenant_id} ${source_id} ${by}`
}
