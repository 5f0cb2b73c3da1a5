import assert from 'node:assert/strict'
import type { Classification } from '../../schemas/classification.ts'
import { classify } from '../../src/enrichment/rules/classify.ts'
import type { Evidence } from '../../src/enrichment/rules/evidence.ts'

export type Case = readonly [Evidence, Classification | undefined, (string | RegExp)?]

/** Each evidence gets its class, by its rule when one is given. */
export function check(cases: readonly Case[]): void {
  for (const [evidence, classification, rule] of cases) {
    const decision = classify(evidence)
    assert.equal(decision.classification, classification, `${JSON.stringify(evidence)} by ${decision.rule}`)
    if (typeof rule === 'string') assert.equal(decision.rule, rule)
    else if (rule !== undefined) assert.match(decision.rule, rule)
  }
}
