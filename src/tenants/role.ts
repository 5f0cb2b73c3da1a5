import type { ProcessContext } from '../process/context.ts'
import { connectClickHouse, DATABASE } from '../stores/clickhouse/client.ts'
import { QuotaWatch } from './quota-watch.ts'
import { quotaStore } from './quotas.ts'
import { ProxiedWatch, readProxiedSenders } from './sources/proxied-senders.ts'

const QUERY_MS = 30_000

export function quotaWatch({ shared: redis, config, telemetry }: ProcessContext): QuotaWatch {
  const { clickhouseUrl, plans } = config
  const { clock, metrics, log } = telemetry
  return new QuotaWatch({ store: quotaStore({ redis, clickhouseUrl, plans, clock }), clock, metrics, log })
}

export function proxiedWatch({ config: { clickhouseUrl }, telemetry }: ProcessContext): ProxiedWatch {
  const { clock, metrics, log } = telemetry
  const read = async () => {
    const client = connectClickHouse(clickhouseUrl, {
      application: 'senders',
      database: DATABASE,
      requestTimeoutMs: QUERY_MS,
    })
    try {
      return await readProxiedSenders(client, clock.now())
    } finally {
      await client.close()
    }
  }
  return new ProxiedWatch({ read, metrics, log })
}
