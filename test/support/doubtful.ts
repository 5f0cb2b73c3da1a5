import assert from 'node:assert/strict'
import { classify, isDoubtful } from '../../src/enrichment/rules/classify.ts'
import type { Evidence } from '../../src/enrichment/rules/evidence.ts'

const NAMES = [
  'Infotech Pvt',
  'Wave',
  'Webtech',
  'Systems Ltd',
  'Digital',
  'Soluciones',
  'IT Services',
  'Air',
  'Services',
  'Sistemas',
  'Virtual',
  'Global',
  'Space',
  'Pro',
]
  .map((word) => `Kibo ${word}`)
  .concat('KIBO-AS')

/**
 * The name and number of an AS that nothing but the model judges, and nearly as noise. New weights of the model change which one it is.
 * @param space of its addresses; default: unknown
 */
export function doubtfulAs(space: Pick<Evidence, 'asAddresses' | 'asHasV6' | 'asScatter'> = {}) {
  const all = NAMES.flatMap((name) =>
    [64_500, 269_306, 150_000, 40_000, 262_144, 328_000].map((asn) => ({ asn, name })),
  )
  const found = all.find(({ asn, name }) => isDoubtful(classify({ asn, asName: name, ...space })))
  assert.ok(found, 'no candidate is doubtful: add one')
  return found
}

export const DOUBTFUL_AS = doubtfulAs()
