import { bareBound } from '../bounds/bare.ts'
import { plainLookupBound } from '../bounds/plain.ts'
import { cpuFigures, peakFigures } from '../run/product.ts'
import type { Bound, Scenario, Stage } from '../run/scenario.ts'
import { bulkBodies, lookupBodies } from './bodies.ts'

interface Lookups {
  readonly path: string
  readonly bodies: () => string[]
  /** Addresses per request. */
  readonly perRequest: number
  readonly connections: number
}

const SECONDS = 10
const WARM_UP_SECONDS = 3
const FIGURE = 'lookups/s'

function lookups(name: string, summary: string, { path, bodies, perRequest, connections }: Lookups): Scenario {
  const spec = (stage: Stage, seconds = stage.seconds(SECONDS)) => ({
    url: stage.product.url,
    path,
    keys: [stage.product.apiKey],
    bodies: bodies(),
    connections: stage.connections(connections),
    seconds,
  })
  const warmUp = (stage: Stage) => spec(stage, stage.atMostSeconds(WARM_UP_SECONDS))
  return {
    name,
    summary,
    async run(stage) {
      await stage.load(warmUp(stage))
      const accounting = stage.product.accounting()
      const loaded = await stage.load(spec(stage))
      const count = loaded.requests * perRequest
      return {
        [FIGURE]: count / loaded.seconds,
        'p50 ms': loaded.p50Ms,
        'p99 ms': loaded.p99Ms,
        ...perLookup(cpuFigures(accounting, count, loaded.cpuSeconds)),
        ...peakFigures(accounting),
      }
    },
    async bounds(stage) {
      const bounds: (Bound | undefined)[] = [
        await plainLookupBound(stage, warmUp(stage), spec(stage), FIGURE, perRequest),
        await bareBound(stage, spec(stage), FIGURE, perRequest),
      ]
      return bounds.filter((bound) => bound !== undefined)
    },
  }
}

function perLookup(figures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name.replace('event', 'lookup'), value]))
}

export const LOOKUPS: readonly Scenario[] = [
  lookups('lookup', '1 of 10,000 addresses per request; with key, rate limit and quota', {
    path: '/v1/lookup',
    bodies: () => lookupBodies(10_000),
    perRequest: 1,
    connections: 64,
  }),
  lookups('bulk', '512 addresses per request', {
    path: '/v1/bulk',
    bodies: () => bulkBodies(512),
    perRequest: 512,
    connections: 8,
  }),
]
