import type { ConditionGroup } from '../../../../schemas/dashboard/companies.ts'

type Term = ConditionGroup['terms'][number]

export const KINDS = [
  ['any', 'any of these'],
  ['all', 'all of these'],
  ['none', 'none of these'],
] as const

const term = (key: string, operator: string, label: string, example: string) => ({
  ...{ id: `${key}${operator}`, key, operator, label, example },
})

/** Terms that the page offers. Others are shown as text. */
export const TERMS = [
  term('country', '=', 'Visits from', 'DE'),
  term('industry', '=', 'Industry', 'Software'),
  term('tag', '=', 'Tag', 'customer'),
  term('status', '=', 'Status', 'customer'),
  term('owner', '=', 'Owner, - for none', '-'),
  term('page', '~', 'Page contains', '/pricing'),
  term('visits', '>=', 'Visits, at least', '3'),
  term('visits', '<=', 'Visits, at most', '10'),
  term('heat', '>=', 'Heat, at least', '50'),
  term('new_days', '=', 'New in the last days', '7'),
  term('search', '=', 'Name, domain or id contains', 'bank'),
  term('category', '=', 'Category', 'Technology'),
  term('classification', '=', 'Type', 'business'),
  term('source', '=', 'Source', 'Website'),
  term('campaign', '=', 'Campaign', 'spring'),
  term('first_channel', '=', 'First touch by channel', 'paid search'),
  term('last_channel', '=', 'Last touch by channel', 'email'),
  term('first_campaign', '=', 'First touch of campaign', 'spring'),
  term('last_campaign', '=', 'Last touch of campaign', 'spring'),
] as const

export const EMPTY_GROUPS: readonly ConditionGroup[] = [
  { kind: 'any', terms: [{ key: 'country', operator: '=', value: '' }] },
]

export function termId({ key, operator }: Pick<Term, 'key' | 'operator'>): string {
  return `${key}${operator}`
}

/** The text of groups that all hold. The server reads it. */
export function conditionText(groups: readonly ConditionGroup[]): string {
  return groups
    .filter(({ terms }) => terms.length > 0)
    .map(({ kind, terms }) => {
      const text = terms.map(termText).join(kind === 'all' ? ' and ' : ' or ')
      return `${kind === 'none' ? 'not ' : ''}(${text})`
    })
    .join(' and ')
}

/** A term. The server reads it. */
export function termText({ key, operator, value }: Term): string {
  return `${key}${operator}"${value.trim().replaceAll('"', '""')}"`
}
