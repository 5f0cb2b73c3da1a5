import {
  INTENT_PAGES,
  type IntentPageMatch,
  type IntentPages,
  type IntentPagesWanted,
} from '../../schemas/dashboard/intent-pages.ts'
import { utcDay } from '../pipeline/event/outcomes.ts'
import type { Clock } from '../run/clock.ts'
import { InputError } from '../run/errors.ts'
import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { inParts } from './companies.ts'
import { OF_SHOWN, WITH_MERGED } from './corrected.ts'
import { patternOf } from './is-intent-page.ts'
import { PAGE_OF_URL, PATH_OF_URL } from './page-of-url.ts'

const DAY_MS = 86_400_000
const WORDS = /[\p{L}\p{N}]+/gu

/**
 * What a tenant has after a change.
 * @throws InputError that says which page is invalid, or unknown, and why
 */
export function changedIntentPages(
  before: IntentPages,
  { pages, add = [], remove = [] }: IntentPagesWanted,
): IntentPages {
  if (pages === undefined && add.length + remove.length === 0) throw new InputError('no page is named')
  const found = new Map<string, string>()
  for (const page of pages ?? before.pages) put(page)
  for (const page of remove) {
    if (!found.delete(wordsOf(readIntentPage(page)))) throw new InputError(`${JSON.stringify(page)} is no intent page`)
  }
  for (const page of add) put(page)
  if (found.size === 0 && pages?.length !== 0) {
    throw new InputError('at least one intent page is needed: restore the default ones instead')
  }
  if (found.size > INTENT_PAGES.max) throw new InputError(`at most ${INTENT_PAGES.max} intent pages are allowed`)
  const isDefault = found.size === 0 || [...found.keys()].sort().join() === DEFAULT_WORDS
  return isDefault ? DEFAULT_INTENT_PAGES : { pages: [...found.values()], is_default: false }

  function put(text: string): void {
    const page = readIntentPage(text)
    if (!found.has(wordsOf(page))) found.set(wordsOf(page), page)
  }
}

export const DEFAULT_INTENT_PAGES: IntentPages = { pages: [...INTENT_PAGES.defaults], is_default: true }
const DEFAULT_WORDS = INTENT_PAGES.defaults.map(wordsOf).sort().join()

/** The words of a page, which decide what it matches. */
function wordsOf(page: string): string {
  return (page.toLowerCase().match(WORDS) ?? []).join(' ')
}

/** The path of a page as a person writes it; of a URL its path. @throws InputError */
function readIntentPage(text: string): string {
  const name = JSON.stringify(text.slice(0, INTENT_PAGES.maxChars))
  const page = text
    .trim()
    .replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '')
    .replace(/^[\w-]+(\.[\w-]+)+(?=\/)/, '')
  if (/[?#]/.test(page)) throw new InputError(`${name}: leave out what begins with ? or #, only the path is compared`)
  if (page.includes('*')) {
    throw new InputError(`${name}: leave out the *, because any text may be before and after the words of a page`)
  }
  const path = decoded(page)
  if (/\p{Cc}/u.test(path)) throw new InputError(`${name}: a page is one line of text`)
  if (wordsOf(path) === '') throw new InputError(`${name} has no word in its path: write pricing or /book-a-demo`)
  if (path.length > INTENT_PAGES.maxChars) {
    throw new InputError(`${name}… is too long: a page has at most ${INTENT_PAGES.maxChars} characters`)
  }
  return path
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** What pages match, as `company_heat` does it. */
const matchesSql = (isSearched: boolean) => `
  ${WITH_MERGED},
  (SELECT arrayMap(each -> ${patternOf('[each]')}, {pages:Array(String)})) AS patterns
  SELECT {pages:Array(String)}[index] AS page, count() AS read_pages, argMax(path, (times, path)) AS example
  FROM
  (
    SELECT ${PAGE_OF_URL} AS read_page, any(${PATH_OF_URL}) AS path, count() AS times
    FROM events
    WHERE ${OF_SHOWN} AND toDate32(timestamp) >= {from:Date32} AND toDate32(timestamp) <= {to:Date32}
      ${isSearched ? 'AND (match(extra, {search:String}) OR match(properties, {search:String}))' : ''} AND url != ''
    GROUP BY read_page
  )
  ARRAY JOIN arrayFilter((index, pattern) -> match(decodeURLComponent(path), pattern), arrayEnumerate(patterns), patterns) AS index
  GROUP BY index`

/**
 * A part of the JSON of each event that may match: ClickHouse computes the page from it, which is slow. Empty when a page has no text that
 * JSON never escapes.
 */
function searchOf(pages: readonly string[]): string {
  const words = pages.map((page) => page.match(/[A-Za-z0-9]+/g)?.sort((a, b) => b.length - a.length)[0])
  return words.includes(undefined) ? '' : `(?i)${[...words, '\\\\u'].join('|')}`
}

/** Reads what intent pages match. Rejects as `ClickHouseCompanies`. */
export class ClickHouseIntentPages {
  readonly #reader: QuestionReader
  readonly #clock: Clock

  constructor(reader: QuestionReader, clock: Clock) {
    this.#reader = reader
    this.#clock = clock
  }

  /** What each of the pages matches, in their order. */
  async matches(tenant: string, pages: readonly string[]): Promise<IntentPageMatch[]> {
    const nowMs = this.#clock.now()
    const span = { from: utcDay(nowMs - (INTENT_PAGES.countedDays - 1) * DAY_MS), to: utcDay(nowMs) }
    const found = new Map<string, IntentPageMatch>()
    for (const part of inParts(pages)) {
      const search = searchOf(part)
      const parameters = { tenant, ...span, pages: part, ...(search !== '' && { search }) }
      for (const row of await this.#reader.rows<IntentPageMatch>(matchesSql(search !== ''), parameters)) {
        found.set(row.page, row)
      }
    }
    return pages.map((page) => found.get(page) ?? { page, read_pages: 0, example: '' })
  }
}
