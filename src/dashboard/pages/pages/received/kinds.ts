import type { OutcomeCount } from '../../../../../schemas/dashboard/overview.ts'
import { BOT, NO_PAGE } from '../../../../../schemas/filtered.ts'
import { type CategoryColour, CLASS_COLOURS } from '../../design/colours.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.received.kinds

/** A series of the chart of received events. */
export interface Kind {
  readonly name: string
  readonly colour: CategoryColour
  readonly of: (row: OutcomeCount) => boolean
}

/** Whether events were filtered as noise, or as no page views. */
export const isFiltered = ({ status }: OutcomeCount) => status === 'filtered' || status === NO_PAGE

const BY_RULES = 'rules'

/** Rules of the tenant filter events of any class. */
function filterOf({ status, reason, classification }: OutcomeCount): string {
  if (status === NO_PAGE) return NO_PAGE
  return reason === '' || reason.startsWith(BOT) ? classification : BY_RULES
}
const FILTERS = ['isp', 'hosting', 'cloud', 'cdn', 'reserved', BY_RULES, 'vpn', 'bot', NO_PAGE] as const
const OTHER_COLOUR: CategoryColour = 6

const INVALID: ReadonlySet<string> = new Set(['invalid_ip', 'no_ip', 'rejected'])

/** Every row is of one kind at most. Some kinds are always shown, others only when they occur. */
export function kindsOf(outcomes: readonly OutcomeCount[]): Kind[] {
  const filters = FILTERS.map((filter) => ({
    name: texts.filtered[filter],
    colour: CLASS_COLOURS[filter] ?? OTHER_COLOUR,
    of: (row: OutcomeCount) => isFiltered(row) && filterOf(row) === filter,
  }))
  const known = (row: OutcomeCount) =>
    row.status === 'stored' || row.status === 'duplicates' || INVALID.has(row.status) || isFiltered(row)
  const others: Kind[] = [
    ...filters,
    { name: texts.dead, colour: OTHER_COLOUR, of: (row: OutcomeCount) => !known(row) },
  ]
  return [
    { name: texts.kept, colour: 1, of: ({ status }) => status === 'stored' },
    { name: texts.repeats, colour: 10, of: ({ status }) => status === 'duplicates' },
    { name: texts.invalid, colour: 6, of: ({ status }) => INVALID.has(status) },
    ...others.filter(({ of }) => outcomes.some(of)),
  ]
}
