import { poll } from '../../src/run/loop.ts'
import type { LoadSpec } from '../loader/loader.ts'
import { cpuFigures, peakFigures } from '../run/product.ts'
import type { Figures, Stage } from '../run/scenario.ts'
import { type EventBodies, eventBodies, keptOf } from './bodies.ts'

export interface EventLoad extends Omit<EventBodies, 'tag'> {
  readonly connections: number
  /** Default: those of a measured load. */
  readonly seconds?: number
  readonly rate?: number
  /** Default: the demo tenant's key. */
  readonly keys?: readonly string[]
  /** Prefix of the event ids. Default: the run's. */
  readonly tag?: string
  /** Default: `/v1/ingest`. */
  readonly path?: string
}

const SECONDS = 10
const WARM_UP_SECONDS = 3
const LATE_ROWS_MS = 10_000
const LATE_ROWS_LOOK_MS = 200

/** The load as a `LoadSpec`. */
export function eventLoad(stage: Stage, load: EventLoad): LoadSpec {
  const { product, tag } = stage
  return {
    url: product.url,
    path: load.path ?? '/v1/ingest',
    keys: load.keys ?? [product.apiKey],
    bodies: eventBodies({ tag, ...load }),
    connections: stage.connections(load.connections),
    seconds: load.seconds ?? stage.seconds(SECONDS),
    rate: load.rate,
  }
}

/** The warm-up for a measured load. */
export function warmUpLoad(stage: Stage, load: EventLoad): EventLoad {
  return { ...load, seconds: stage.atMostSeconds(WARM_UP_SECONDS), tag: `${load.tag ?? stage.tag}w` }
}

/** Runs a warm-up, and waits until the product is idle again. */
export async function warmUp(stage: Stage, load: EventLoad): Promise<void> {
  await sendEvents(stage, warmUpLoad(stage, load))
  await stage.product.idle()
}

/**
 * Sends events for the given time, and waits until the last row can be queried.
 * @throws Error when rows are missing, surplus or doubled
 */
export async function sendEvents(stage: Stage, load: EventLoad): Promise<{ events: number; figures: Figures }> {
  const { product } = stage
  const tag = load.tag ?? stage.tag
  const kept = keptOf({ tag, ...load })
  const ofRun = `FROM events WHERE event_id LIKE '${tag}-%'`
  const before = await product.stored()
  const accounting = product.accounting()
  const spec = eventLoad(stage, load)
  const loaded = await stage.load(spec)
  const answeredMs = performance.now()
  await product.untilStored(before + loaded.requests * kept)
  // Excludes the start of the loader.
  const seconds = loaded.seconds + (performance.now() - answeredMs) / 1_000
  const events = loaded.requests * load.perRequest
  const figures: Figures = {
    'events/s': events / seconds,
    'answered events/s': events / loaded.seconds,
    'p50 ms': loaded.p50Ms,
    'p99 ms': loaded.p99Ms,
    ...cpuFigures(accounting, events, loaded.cpuSeconds),
    ...peakFigures(accounting),
  }
  // wrk ends with requests in flight.
  const most = (loaded.requests + spec.connections) * kept
  const least = loaded.requests * kept
  const deadlineMs = performance.now() + LATE_ROWS_MS
  let [rows, distinct] = [0, 0]
  // Requests of the previous load that were still in flight may be included.
  await poll(
    async () => {
      const counted = await product.query(`SELECT count(), uniqExact(event_id) ${ofRun}`)
      ;[rows, distinct] = counted.split('\t').map(Number) as [number, number]
      return rows >= least || undefined
    },
    { everyMs: LATE_ROWS_LOOK_MS, deadlineMs },
  )
  if (rows !== distinct || rows < least || rows > most) {
    throw new Error(`${rows} rows of ${distinct} events, instead of ${least}`)
  }
  return { events, figures }
}
