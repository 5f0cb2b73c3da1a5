import { startBareServer } from '../bounds/bare.ts'
import { cpuFigures } from '../run/product.ts'
import type { Scenario } from '../run/scenario.ts'
import { eventLoad, sendEvents, warmUp } from './send-events.ts'
import { quantile, VisibilityWatch } from './visibility.ts'

const LOAD = { perRequest: 100, connections: 16 }
const FULL_SECONDS = 4
const LEAST_RATE = 1
/** Too few requests to matter as a load. */
const BESIDE = { connections: 4, rate: 50 }

export const HALF_LOAD: Scenario = {
  name: 'half-load',
  summary: 'response times, and the time until a row can be queried, at half of the maximum load',
  async run(stage) {
    const { product } = stage
    const full = { ...LOAD, seconds: stage.atMostSeconds(FULL_SECONDS) }
    await warmUp(stage, LOAD)
    const { figures } = await sendEvents(stage, { ...full, tag: `${stage.tag}f` })
    await product.idle()
    const rate = Math.max(LEAST_RATE, figures['events/s']! / LOAD.perRequest / 2)
    const stored = await product.stored()
    const accounting = product.accounting()
    const loaded = await stage.load(eventLoad(stage, { ...LOAD, rate }))
    const events = loaded.requests * LOAD.perRequest
    await product.untilStored(stored + events)
    const cpu = cpuFigures(accounting, events, loaded.cpuSeconds)
    // Polls cost as much as hundreds of events each, so visibility is measured in a separate load.
    const looked = { ...LOAD, rate, tag: `${stage.tag}v` }
    const watch = new VisibilityWatch(product, looked.tag)
    const { answeredAtMs } = await stage.load(eventLoad(stage, looked))
    const visible = await watch.end(answeredAtMs ?? [])
    return {
      'events/s': events / loaded.seconds,
      'p50 ms': loaded.p50Ms,
      'p99 ms': loaded.p99Ms,
      'row p50 ms': quantile(visible, 0.5),
      'row p99 ms': quantile(visible, 0.99),
      ...cpu,
    }
  },
  async bounds(stage, figures) {
    const rate = figures['events/s']! / LOAD.perRequest
    const spec = eventLoad(stage, { ...LOAD, rate, tag: `${stage.tag}b` })
    const bare = await startBareServer(stage, spec.path, spec.bodies[0]!)
    const [, beside] = await Promise.all([stage.load(spec), stage.load({ ...spec, ...BESIDE, url: bare.url })])
    await bare.stop()
    const name = 'bare uWebSockets.js beside it'
    return [
      { name, figure: 'p50 ms', value: beside.p50Ms },
      { name, figure: 'p99 ms', value: beside.p99Ms },
    ]
  },
}
