import { redisFigures } from '../run/product.ts'
import type { Figures, Scenario, Stage } from '../run/scenario.ts'
import { sendEvents, warmUp } from './send-events.ts'

const LOAD = { perRequest: 100, connections: 16 }
/** Enough to fill the buckets of the dedup store, on a slow machine as well; `--seconds` asks for one round of that length instead. */
const EVENTS_LEAST = 1_000_000

/** What Redis keeps of events that are done with is its memory of their ids. */
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
  summary: 'what Redis keeps of a million events that are stored, and of as many that are noise',
  async run(stage) {
    await warmUp(stage, LOAD)
    return { ...(await kept(stage, 'stored', 0)), ...(await kept(stage, 'noise', 1)) }
  },
}
