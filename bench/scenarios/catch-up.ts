import { setTimeout as sleep } from 'node:timers/promises'
import { processName } from '../run/accounting.ts'
import { cpuFigures, peakFigures } from '../run/product.ts'
import type { Scenario, Stage } from '../run/scenario.ts'
import { descendants } from '../support/processes.ts'
import { eventLoad, warmUp } from './send-events.ts'

const STOPPED_SECONDS = 60
const LOAD = { perRequest: 100, connections: 16, rate: 60 }

/** Stops ClickHouse while events arrive at a fixed rate, then continues it. */
export const CATCH_UP: Scenario = {
  name: 'catch-up',
  summary: `${LOAD.perRequest * LOAD.rate} events/s while ClickHouse is stopped, and the catch-up`,
  async run(stage) {
    const { product } = stage
    const seconds = stage.seconds(STOPPED_SECONDS)
    await warmUp(stage, { ...LOAD, rate: undefined })
    const before = await product.stored()
    const accounting = product.accounting()
    const continueClickHouse = stopClickHouse(stage)
    const loaded = await stage.load(eventLoad(stage, { ...LOAD, seconds }))
    await sleep(Math.max(0, seconds - accounting.seconds) * 1_000)
    await continueClickHouse()
    const catchUp = product.accounting()
    const events = loaded.requests * LOAD.perRequest
    await product.untilStored(before + events)
    return {
      'events/s': events / catchUp.seconds,
      'catch-up s': catchUp.seconds,
      'waiting events': events,
      'p50 ms': loaded.p50Ms,
      'p99 ms': loaded.p99Ms,
      ...cpuFigures(accounting, events, loaded.cpuSeconds),
      ...peakFigures(accounting),
    }
  },
}

/** @returns a function that continues ClickHouse */
function stopClickHouse({ product, releases }: Stage): () => Promise<void> {
  const found = descendants(product.pid).find(({ title }) => processName(title) === 'clickhouse')
  if (found === undefined) throw new Error('the process of ClickHouse was not found')
  process.kill(found.pid, 'SIGSTOP')
  return releases.add(async () => void process.kill(found.pid, 'SIGCONT'))
}
