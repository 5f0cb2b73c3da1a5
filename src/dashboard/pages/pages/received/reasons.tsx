import type { OutcomeCount } from '../../../../../schemas/dashboard/overview.ts'
import { BOT, FILTERED, filteredBy, NO_PAGE } from '../../../../../schemas/filtered.ts'
import { RULE_REASONS } from '../../../../../schemas/tenant-rules.ts'
import { BarList } from '../../design/bar-list.tsx'
import { Text } from '../../design/layout.tsx'
import { number, percent } from '../../lib/format.ts'

/** The reason in plain words. */
const WHY: Readonly<Record<string, string>> = {
  duplicates: 'Repeats of an event_id within 7 days',
  invalid_ip: 'Invalid: no IP address',
  no_ip: 'Invalid: without an address',
  rejected: 'Invalid: lines of uploads that are not events',
  dead: 'Dead letters: could not be processed',
  [NO_PAGE]: `Filtered: ${FILTERED[NO_PAGE].about}`,
}
const RULES: ReadonlySet<string> = new Set(RULE_REASONS)

/** @param reason `bot:chatgpt-user:assistant:verified` */
function botText(reason: string): string {
  const [, name, ...marks] = reason.split(':')
  const kind = marks.includes('assistant') ? 'an AI assistant for a person' : 'a bot'
  const proof = marks.at(-1) === 'verified' ? 'by its address' : 'by its user agent alone'
  return `Filtered: ${name === 'other' ? kind : `${name}, ${kind}`}, ${proof}`
}

function filteredWhy(reason: string, classification: string): string {
  if (reason.startsWith(BOT)) return botText(reason)
  const by = filteredBy(reason, classification)
  if (by === 'other') return `Filtered: ${reason || classification || FILTERED.other.about}`
  return `Filtered${RULES.has(by) ? ' by your rule' : ''}: ${FILTERED[by].about}`
}

/** Why events were not kept, with their share. */
export function Reasons({ rows, received }: { readonly rows: readonly OutcomeCount[]; readonly received: number }) {
  const sums = new Map<string, number>()
  for (const { status, reason, classification, events } of rows) {
    const why = status === 'filtered' ? filteredWhy(reason, classification) : (WHY[status] ?? `Dropped: ${status}`)
    sums.set(why, (sums.get(why) ?? 0) + events)
  }
  if (sums.size === 0) return <Text tone="soft">None: every event received was kept.</Text>
  return (
    <BarList
      whole={received}
      bars={[...sums]
        .sort((a, b) => b[1] - a[1])
        .map(([why, events]) => ({
          key: why,
          name: why,
          value: events,
          text: `${percent(events / received)} · ${number(events)}`,
        }))}
    />
  )
}

/** All events of these rows. */
export function sumOf(rows: readonly OutcomeCount[]): number {
  return rows.reduce((total, { events }) => total + events, 0)
}
