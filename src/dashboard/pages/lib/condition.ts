import type { ConditionGroup } from '../../../../schemas/dashboard/companies.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.condition

type Term = ConditionGroup['terms'][number]

export const KINDS = [
  ['any', texts.any],
  ['all', texts.all],
  ['none', texts.none],
] as const

const term = (key: string, operator: string, label: string, example: string) => ({
  ...{ id: `${key}${operator}`, key, operator, label, example },
})

/** Terms that the page offers. Others are shown as text. */
export const TERMS = [
  term('country', '=', TEXTS.words.fields.visitsFrom, 'DE'),
  term('industry', '=', TEXTS.words.fields.industry, 'Software'),
  term('tag', '=', TEXTS.words.fields.tag, 'customer'),
  term('status', '=', TEXTS.words.fields.status, 'customer'),
  term('owner', '=', texts.owner, '-'),
  term('page', '~', texts.page, '/pricing'),
  term('visits', '>=', texts.visitsMin, '3'),
  term('visits', '<=', texts.visitsMax, '10'),
  term('heat', '>=', texts.heatMin, '50'),
  term('new_days', '=', texts.newDays, '7'),
  term('search', '=', texts.search, 'bank'),
  term('category', '=', TEXTS.words.fields.category, 'Technology'),
  term('classification', '=', TEXTS.words.fields.type, 'business'),
  term('source', '=', TEXTS.words.fields.source, 'Website'),
  term('campaign', '=', TEXTS.words.fields.campaign, 'spring'),
  term('first_channel', '=', texts.firstChannel, 'paid search'),
  term('last_channel', '=', texts.lastChannel, 'email'),
  term('first_campaign', '=', texts.firstCampaign, 'spring'),
  term('last_campaign', '=', texts.lastCampaign, 'spring'),
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
