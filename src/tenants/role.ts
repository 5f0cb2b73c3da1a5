import type { ProcessContext } from '../process/context.ts'
import { QuotaWatch, quotaStore } from './quotas.ts'

export function quotaWatch({ shared: redis, config, telemetry }: ProcessContext): QuotaWatch {
  const { clickhouseUrl, plans } = config
  const { clock, metrics, log } = telemetry
  return new QuotaWatch({ store: quotaStore({ redis, clickhouseUrl, plans, clock }), clock, metrics, log })
}
