import type { OwnColumn } from '../../../../schemas/facts.ts'
import { TEXTS } from '../texts/texts.ts'
import { NOT_KNOWN } from './company-view.ts'
import { day, number } from './format.ts'
import { ownTermOf } from './own-terms.ts'

const texts = TEXTS.components.ownFilters

/** A value of an own column as people read it. */
export function ownText({ type }: Pick<OwnColumn, 'type'>, value: string): string {
  if (value === '') return ''
  return type === 'number' ? number(Number(value)) : type === 'date' ? day(value) : value
}

const WORDS: Readonly<Record<string, (value: string) => string>> = {
  '=': texts.is,
  '!=': texts.not,
  '~': texts.contains,
  '>=': texts.atLeast,
  '>': texts.moreThan,
  '<=': texts.atMost,
  '<': texts.lessThan,
}
const DATE_WORDS: Readonly<Record<string, (value: string) => string>> = {
  '>=': texts.from,
  '>': texts.after,
  '<=': texts.until,
  '<': texts.before,
}

/** The conditions of a URL on an own column, in words. */
export function ownWords(column: OwnColumn, terms: readonly string[]): string {
  return terms
    .flatMap((term) => ownTermOf(term) ?? [])
    .filter(({ key }) => key === column.key)
    .map(({ operator, value }) => {
      const word = (column.type === 'date' ? DATE_WORDS[operator] : undefined) ?? WORDS[operator]!
      return word(value === NOT_KNOWN ? texts.notKnown : textOf(column, value))
    })
    .join(', ')
}

/** A link may compare a column with a value of another type. */
function textOf(column: OwnColumn, value: string): string {
  const isValid = column.type === 'number' ? !Number.isNaN(Number(value)) : !Number.isNaN(Date.parse(value))
  return column.type === 'text' || !isValid ? value : ownText(column, value)
}
