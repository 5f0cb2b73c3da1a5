import { redisFigures } from '../run/product.ts'
import type { Figures, Scenario, Stage } from '../run/scenario.ts'
import { sendEvents, warmUp } from './send-events.ts'

const LOAD = { perRequest: 100, connections: 16 }
/** Enough to fill the buckets of the dedup store, also on a slow machine. `--seconds` runs one round of that length instead. */
const EVENTS_LEAST = 1_000_000

/** Redis keeps only the ids of finished events. */
async function kept(stage: Stage, what: string, noise: number): Promise<Figures> {
  const { product } = stage
  const before = await product.redis()
  let events = 0
  for (let round = 0; round === 0 || (stage.options.seconds === undefined && events < EVENTS_LEAST); round++) {
    events += (await sendEvents(stage, { ...LOAD, noise, tag: `${stage.tag}${what}${round}` })).events
  }
  await product.idle()
  const figures = redisFigures(before, await product.redis(), events)
  const all = { events, ...figures }
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [`${what} ${name}`, value]))
}

export const DEDUP: Scenario = {
  name: 'dedup',
  summary: 'memory of Redis for a million stored events, and for a million noise events',
  async run(stage) {
    await warmUp(stage, LOAD)
    return { ...(await kept(stage, 'stored', 0)), ...(await kept(stage, 'noise', 1)) }
  },
}
