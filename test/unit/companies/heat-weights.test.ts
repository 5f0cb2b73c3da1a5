import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_HEAT_WEIGHTS } from '../../../schemas/dashboard/heat.ts'
import { formatHeatWeights, heatOfDays, heatWeightsOf } from '../../../src/companies/heat.ts'

test('points of heat add up to 100, and are kept as a text that people can read', () => {
  const weights = { recency: 0, frequency: 10, depth: 85, intent: 5 }
  const heat_weights = formatHeatWeights(weights)
  assert.equal(heat_weights, 'recency=0 frequency=10 depth=85 intent=5')
  assert.deepEqual(heatWeightsOf({ heat_weights }), weights)
  assert.throws(() => formatHeatWeights({ ...weights, depth: 86 }), {
    name: 'InputError',
    message: 'the points must add up to 100, and these are 101',
  })
})

for (const heat_weights of [
  undefined,
  '',
  'recency=30 frequency=30 depth=15 intent=26',
  'recency=30 frequency=30 depth=15 intent=25 size=0',
  'recency=300 frequency=-200 depth=0 intent=0',
  '30 30 15 25',
]) {
  test(`the stored text ${JSON.stringify(heat_weights)} means the default points`, () => {
    assert.deepEqual(heatWeightsOf(heat_weights === undefined ? {} : { heat_weights }), DEFAULT_HEAT_WEIGHTS)
  })
}

test('a part has all of its points at most, and none without points', () => {
  const days = Array.from({ length: 30 }, (_, ago) => ({ ago, events: 40, hasIntent: true }))
  const weights = { recency: 0, frequency: 10, depth: 85, intent: 5 }
  const { heat, recency, frequency, depth, intent } = heatOfDays(days, weights)!
  assert.deepEqual({ recency, frequency, depth, intent }, weights)
  assert.equal(heat, 100)
})
