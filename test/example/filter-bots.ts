import type { Outcome, Stage } from '../../src/pipeline/declaration/stage.ts'
import { columnOf } from '../../src/pipeline/event/row.ts'

const BOT = /bot|crawl|spider|slurp/i
const DROPPED: Outcome = { kind: 'drop', reason: 'bots' }

/** Drops events whose `properties.user_agent` names a bot. */
export const filterBots: Stage = {
  name: 'filter-bots',
  drops: [DROPPED.reason],
  decide(block) {
    const outcomes = new Map<number, Outcome>()
    for (const [position, properties] of columnOf(block, 'properties').entries()) {
      if (BOT.test(userAgent(properties))) outcomes.set(position, DROPPED)
    }
    return { outcomes }
  },
}

/** @param properties any JSON, or `''` */
function userAgent(properties: string): string {
  if (!properties.startsWith('{')) return ''
  const agent = (JSON.parse(properties) as { user_agent?: unknown }).user_agent
  return typeof agent === 'string' ? agent : ''
}
