import type { OutcomeCount } from '../../../../../schemas/dashboard/overview.ts'
import { BOT, filteredBy, NO_PAGE } from '../../../../../schemas/filtered.ts'
import { BarList } from '../../design/bar-list.tsx'
import { Text } from '../../design/layout.tsx'
import { number, percent } from '../../lib/format.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.received.reasons

/** The reason in plain words. */
const WHY: Readonly<Record<string, string>> = {
  duplicates: texts.duplicates,
  invalid_ip: texts.invalid,
  no_ip: texts.noAddress,
  rejected: texts.rejected,
  dead: texts.dead,
  [NO_PAGE]: texts.filtered[NO_PAGE],
}

/** @param reason `bot:chatgpt-user:assistant:verified` */
function botText(reason: string): string {
  const [, name, ...marks] = reason.split(':')
  const text = texts.bots[marks.includes('assistant') ? 'assistant' : 'bot']
  return text(name === 'other' ? undefined : name, marks.at(-1) === 'verified')
}

function filteredWhy(reason: string, classification: string): string {
  if (reason.startsWith(BOT)) return botText(reason)
  const by = filteredBy(reason, classification)
  const unknown = reason || classification
  return by === 'other' && unknown !== '' ? texts.filteredFor(unknown) : texts.filtered[by]
}

/** Why events were not kept, with their share. */
export function Reasons({ rows, received }: { readonly rows: readonly OutcomeCount[]; readonly received: number }) {
  const sums = new Map<string, number>()
  for (const { status, reason, classification, events } of rows) {
    const why = status === 'filtered' ? filteredWhy(reason, classification) : (WHY[status] ?? texts.dropped(status))
    sums.set(why, (sums.get(why) ?? 0) + events)
  }
  if (sums.size === 0) return <Text tone="soft">{texts.none}</Text>
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
