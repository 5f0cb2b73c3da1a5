import type { Outcome, Stage } from '../../src/pipeline/declaration/stage.ts'
import { columnOf } from '../../src/pipeline/event/row.ts'

const STAGING = /^(?:staging|preview)\./
const DROPPED: Outcome = { kind: 'drop', reason: 'staging' }

/** Drops events whose `properties.host` is that of a site before its release. */
export const filterStaging: Stage = {
  name: 'filter-staging',
  drops: [DROPPED.reason],
  decide(block) {
    const outcomes = new Map<number, Outcome>()
    for (const [position, properties] of columnOf(block, 'properties').entries()) {
      if (STAGING.test(hostIn(properties))) outcomes.set(position, DROPPED)
    }
    return { outcomes }
  },
}

/** @param properties any JSON, or `''` */
function hostIn(properties: string): string {
  if (!properties.startsWith('{')) return ''
  const { host } = JSON.parse(properties) as { host?: unknown }
  return typeof host === 'string' ? host : ''
}
