import type { OwnColumn } from '../../../../schemas/facts.ts'
import { TEXTS } from '../texts/texts.ts'
import { NOT_KNOWN, type OTHER_COUNTS, type OTHER_LISTS, viewOf } from './company-view.ts'
import { country } from './days.ts'
import { fitWord } from './fit.ts'
import { capitalised, number } from './format.ts'
import { ownTermOf } from './own-terms.ts'
import { ownWords } from './own-words.ts'

const texts = TEXTS.components.filters
const { fields, states } = TEXTS.words

/** A filter of the list of companies that is set. */
export interface ActiveFilter {
  /** Its name in the URL; `own.KEY` for a column of the workspace's own. */
  readonly name: string
  readonly label: string
  /** Its value, in words. */
  readonly words: string
  /** The change of the URL that removes it, and no other. */
  readonly clear: Readonly<Record<string, string | readonly string[]>>
}

/** Filters with a list of values: name in the URL, label, name in the choices, words for a value. */
export const LIST_FILTERS = [
  ['industry', fields.industry, 'industry', String],
  ['country', fields.visitsFrom, 'country', country],
  ['tag', fields.tag, 'tag', String],
  ['category', fields.category, 'category', String],
  ['class', fields.type, 'classification', String],
  ['fit', fields.fit, 'fit', fitWord],
  ['status', fields.status, 'status', String],
  ['owner', fields.owner, 'owner', String],
  ['source', fields.source, 'source', String],
  ['campaign', fields.campaign, 'campaign', String],
  ['first_channel', fields.firstTouch, 'first_channel', capitalised],
  ['last_channel', fields.lastTouch, 'last_channel', capitalised],
  ['first_campaign', fields.firstCampaign, 'first_campaign', String],
  ['last_campaign', fields.lastCampaign, 'last_campaign', String],
] as const

/** Values of the filter of hidden companies, and their words. */
export const HIDDEN_VALUES = [
  ['with', texts.shownToo],
  ['only', texts.onlyThese],
] as const

/** Values of the filter of merged companies, and their words. */
export const MERGED_VALUES = [['only', texts.mergedInto]] as const

const { not, atMost, atLeast } = TEXTS.components.otherFilters

/** Filters of a segment that the list has no choice for. */
const OTHERS: Readonly<
  Record<
    (typeof OTHER_LISTS)[number] | (typeof OTHER_COUNTS)[number],
    readonly [label: string, words: (values: readonly string[]) => string]
  >
> = {
  industry_not: [fields.industry, not],
  category_not: [fields.category, not],
  country_not: [fields.visitsFrom, not],
  classification_not: [fields.type, not],
  tag_not: [fields.tag, not],
  owner_not: [fields.owner, not],
  status_not: [fields.status, not],
  fit_not: [fields.fit, not],
  source_not: [fields.source, not],
  campaign_not: [fields.campaign, not],
  first_channel_not: [fields.firstTouch, not],
  last_channel_not: [fields.lastTouch, not],
  first_campaign_not: [fields.firstCampaign, not],
  last_campaign_not: [fields.lastCampaign, not],
  visits_max: [fields.visits, atMost],
  events_min: [fields.events, atLeast],
  events_max: [fields.events, atMost],
  heat_max: [fields.heat, atMost],
}

/** Whether the list has no choice for a filter: only segments of the command line have it. */
export const isOtherFilter = (name: string): boolean => name in OTHERS

/**
 * The filters of a URL, in the order of the list. Values that filter nothing are left out, because links may be cut off or typed.
 * @param columns those of the workspace's own; a filter by a column that was removed has its key as a name
 */
export function activeFilters(state: URLSearchParams, columns: readonly OwnColumn[]): readonly ActiveFilter[] {
  const { search, page_visits_min, visits_min, heat_min, new_since, new_days, hidden, merged } = viewOf(state)
  const filters: ActiveFilter[] = []
  const add = (
    name: string,
    label: string,
    words: string | undefined,
    clear: ActiveFilter['clear'] = { [name]: '' },
  ) => {
    if (words !== undefined && words !== '') filters.push({ name, label, words, clear: { ...clear, page: '' } })
  }
  const valuesOf = (name: string) => state.getAll(name).filter((value) => value !== '')
  add('q', texts.search, search)
  for (const [name, label, , nameOf] of LIST_FILTERS) {
    const names = valuesOf(name).map((value) => (value === NOT_KNOWN ? states.notKnown : nameOf(value)))
    add(name, label, TEXTS.design.chip.anyOf(names))
  }
  for (const name of ['at', 'page_is']) {
    const pages = valuesOf(name)
    const often = page_visits_min === undefined || page_visits_min < 2 ? undefined : page_visits_min
    if (pages.length === 0) continue
    add(name, texts.page, texts.pages(pages, name === 'at', often), { [name]: '', page_visits_min: '' })
  }
  const least = (count: number | undefined) => (count === undefined ? '' : TEXTS.words.counts.atLeast(number(count)))
  add('visits', fields.visits, least(visits_min))
  add('heat_min', fields.heat, least(heat_min))
  add('new', texts.new, newWords(new_days, new_since), { new: '', new_days: '' })
  add('hidden', texts.hidden, HIDDEN_VALUES.find(([value]) => value === hidden)?.[1])
  add('merged', texts.merged, MERGED_VALUES.find(([value]) => value === merged)?.[1])
  const own = state.getAll('own')
  const keys = own.flatMap((term) => ownTermOf(term)?.key ?? [])
  for (const key of new Set([...columns.map((column) => column.key), ...keys])) {
    const column = columns.find((each) => each.key === key) ?? { key, name: key, type: 'text' as const }
    const others = own.filter((term) => ownTermOf(term)?.key !== key)
    if (others.length < own.length) add(`own.${key}`, column.name, ownWords(column, own), { own: others })
  }
  for (const [name, [label, words]] of Object.entries(OTHERS)) {
    const values = valuesOf(name)
    if (values.length > 0) add(name, label, words(values))
  }
  add('condition', TEXTS.components.conditionChip.also, state.get('condition') ?? '')
  return filters
}

/** Links from counts of certain days have a date. */
function newWords(days: number | undefined, since: string | undefined): string {
  const last = days === undefined ? [] : [days === 1 ? texts.onlyToday : texts.lastDays(number(days))]
  return [...last, ...(since === undefined ? [] : [texts.since(since.slice(0, 10))])].join(', ')
}
