import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heatLevel } from '../../../src/dashboard/pages/lib/heat-level.ts'

const CASES: readonly (readonly [heat: number, median: number | null, top: number | null, level: string])[] = [
  [39, 40, 80, 'low'],
  [40, 40, 80, 'medium'],
  [79, 40, 80, 'medium'],
  [80, 40, 80, 'top'],
  [100, 40, 80, 'top'],
  // Half of the companies have the highest heat.
  [80, 80, 80, 'medium'],
  [0, null, null, 'low'],
]

test('a heat has its level among the companies of the tenant', () => {
  for (const [heat, median, top, level] of CASES) assert.equal(heatLevel(heat, { median, top }), level, String(heat))
  assert.equal(heatLevel(90, undefined), 'low', 'while the levels load')
})
