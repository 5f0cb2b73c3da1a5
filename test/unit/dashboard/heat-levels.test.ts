import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_HEAT_WEIGHTS, type HeatWeights } from '../../../schemas/dashboard/heat.ts'
import { DEFAULT_INTENT_PAGES } from '../../../src/companies/intent-pages.ts'
import { type HeatDependencies, heatRoutes } from '../../../src/dashboard/server/routes/heat.ts'

const DEPTH: HeatWeights = { recency: 0, frequency: 0, depth: 100, intent: 0 }

/** Settings that change outside this process, and levels that say by which weights they were computed. */
function heldHeat() {
  const weights: HeatWeights = DEFAULT_HEAT_WEIGHTS
  const held = { weights, pages: DEFAULT_INTENT_PAGES, computed: 0, wait: Promise.resolve() }
  const parts = {
    companies: {
      async heatLevels(_: string, { depth }: HeatWeights) {
        held.computed++
        await held.wait
        return { median: depth, top: 100 }
      },
    },
    corrections: { heatWeights: async () => held.weights, intentPages: async () => held.pages },
  }
  const { handle } = heatRoutes(parts as unknown as HeatDependencies).find(({ path }) => path.endsWith('/heat-levels'))!
  const median = async (tenant = 'acme') => {
    const { body } = await handle({ tenant: { id: tenant } } as never)
    return (JSON.parse(String(body)) as { median: number }).median
  }
  return { held, median }
}

test('levels of heat follow weights and intent pages that another process changed, and are computed once for each', async () => {
  const { held, median } = heldHeat()
  assert.deepEqual([await median(), await median(), held.computed], [DEFAULT_HEAT_WEIGHTS.depth, 15, 1])
  held.weights = DEPTH
  assert.deepEqual([await median(), await median(), held.computed], [100, 100, 2])
  held.weights = DEFAULT_HEAT_WEIGHTS
  assert.deepEqual([await median(), held.computed], [15, 2])
  held.pages = { pages: ['pricing'], is_default: false }
  assert.deepEqual([await median(), held.computed], [15, 3])
  assert.deepEqual([await median('other'), held.computed], [15, 4])
})

test('levels that are computed while the weights change are never those of the new weights', async () => {
  const { held, median } = heldHeat()
  let resolve = () => {}
  held.wait = new Promise((done) => {
    resolve = done
  })
  const before = median()
  await new Promise(setImmediate)
  held.weights = DEPTH
  resolve()
  assert.deepEqual([await before, await median()], [15, 100])
})
