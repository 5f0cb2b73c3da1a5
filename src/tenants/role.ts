import type { ProcessContext } from '../process/context.ts'
import { quotasOf } from './quota-sources.ts'
import { QuotaWatch } from './quota-watch.ts'

export function quotaWatch({ shared: redis, config, telemetry }: ProcessContext): QuotaWatch {
  const { clickhouseUrl, plans } = config
  const { clock, metrics, log } = telemetry
  return new QuotaWatch({ ...quotasOf({ redis, clickhouseUrl, plans, clock }), metrics, log })
}
