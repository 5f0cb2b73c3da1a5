import { type Part, parts } from '../parts.ts'

/** Texts of the parts in design/. */
export const design = {
  chip: {
    clear: (label: string) => `Clear ${label}`,
    andMore: (first: string, more: number) => `${first} and ${more} more`,
    find: (label: string) => `Find in ${label}`,
    nothing: 'Nothing matches.',
    clearAll: 'Clear',
    anyOf: (names: readonly string[]) => names.join(' or '),
  },
  code: {
    copyOf: (label: string) => `Copy: ${label}`,
    copied: 'Copied',
    copy: 'Copy',
  },
  editInPlace: {
    add: 'Add',
    addTo: (label: string) => ` ${label}`,
    edit: (label: string) => ` (edit ${label})`,
  },
  externalLink: {
    opens: '(opens a new tab)',
  },
  flag: {
    unknown: 'unknown',
  },
  heatBadge: {
    meanings: {
      low: 'in the lower half of your companies',
      medium: 'in the higher half of your companies',
      top: 'in the hottest tenth of your companies',
    },
    heat: (heat: number) => `Heat ${heat}`,
    ofHundred: (heat: number, meaning: string) => `Heat ${heat} of 100, ${meaning}`,
  },
  notice: {
    safe: (command: Part) =>
      parts`Accepted events are safe and will be stored later. On the machine where ipid runs, ${command} shows the cause.`,
    again: 'Try again',
  },
  steps: {
    done: '(done)',
  },
  table: {
    choose: (name: string) => `Choose ${name}`,
    chooseAll: 'Choose all rows of this page',
    sortBy: 'Sort by',
    scroll: 'Scroll sideways for more columns',
    reverse: { asc: 'Ascending order: reverse it', desc: 'Descending order: reverse it' },
  },
  toast: {
    notUndone: (problem: string) => `It could not be undone: ${problem}`,
    undo: 'Undo',
    dismiss: 'Dismiss',
  },
  chart: {
    todaySoFar: 'today, so far',
    numbers: 'Numbers',
    numbersOf: (chart: string) => `${chart}: numbers`,
    soFar: ', so far',
  },
  sparkline: {
    oneScale: 'All rows have one scale. A bar with a gap is cut: its day is above it.',
  },
  dateRange: {
    days: 'Days',
    allTime: 'All time',
    from: 'From',
    to: 'To',
  },
  ranges: {
    today: 'Today',
    last7: 'Last 7 days',
    last30: 'Last 30 days',
    thisWeek: 'This week',
    lastWeek: 'Last week',
    thisMonth: 'This month',
  },
}
