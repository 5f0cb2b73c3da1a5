import {
  INTENT_PAGES,
  type IntentPageMatch,
  type IntentPages,
  type IntentPagesWanted,
} from '../../schemas/dashboard/intent-pages.ts'
import type { Clock } from '../run/clock.ts'
import { InputError } from '../run/errors.ts'
import { addDays, dayIn, inUtc, type ZoneOf } from '../run/time-zone.ts'
import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { inParts } from './companies.ts'
import { isVisible } from './corrected.ts'
import { pageDays, type ReadBasis, readBasis, WITHIN } from './days.ts'
import { PATH_OF_PAGE } from './filter.ts'

const WORDS = /[\p{L}\p{N}]+/gu

/**
 * The pages of a tenant after a change.
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

/** The words of a page, which decide its matches. */
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
  if (/[?#]/.test(page)) throw new InputError(`${name}: leave out the part from ? or # on, only the path is compared`)
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

/** The pattern of a page, as the view `read_intent_pages` makes it. */
const PATTERN =
  "concat('(?i)(^|[^\\\\pL\\\\pN])(', arrayStringConcat(extractAll(each, '[\\\\pL\\\\pN]+'), '[^\\\\pL\\\\pN]+'), ')([^\\\\pL\\\\pN]|$)')"

/** The matches of pages, as in the view `read_intent_pages`. */
const matchesSql = (basis: ReadBasis) => `
  WITH (SELECT arrayMap(each -> ${PATTERN}, {pages:Array(String)})) AS patterns
  SELECT {pages:Array(String)}[index] AS page, count() AS read_pages, argMax(path, (times, path)) AS example
  FROM
  (
    SELECT page AS read_page, toString(${PATH_OF_PAGE}) AS path, sum(events) AS times
    FROM (${pageDays(basis, { within: WITHIN })})
    WHERE ${isVisible(basis, 'company')}
    GROUP BY read_page, path
  )
  ARRAY JOIN arrayFilter((index, pattern) -> match(decodeURLComponent(path), pattern), arrayEnumerate(patterns), patterns) AS index
  GROUP BY index`

/** Reads the matches of intent pages. Rejects as `ClickHouseCompanies`. */
export class ClickHouseIntentPages {
  readonly #reader: QuestionReader
  readonly #clock: Clock
  readonly #zoneOf: ZoneOf

  /** @param zoneOf the zone of a tenant's days; default: UTC */
  constructor(reader: QuestionReader, clock: Clock, zoneOf: ZoneOf = inUtc) {
    this.#reader = reader
    this.#clock = clock
    this.#zoneOf = zoneOf
  }

  /** The matches of each page, in their order. */
  async matches(tenant: string, pages: readonly string[]): Promise<IntentPageMatch[]> {
    const zone = await this.#zoneOf(tenant)
    const to = dayIn(zone, this.#clock.now())
    const span = { from: addDays(to, 1 - INTENT_PAGES.countedDays), to }
    const found = new Map<string, IntentPageMatch>()
    const query = matchesSql(await readBasis(this.#reader, tenant, 'pages', zone))
    for (const part of inParts(pages)) {
      const rows = await this.#reader.rows<IntentPageMatch>(query, { tenant, ...span, pages: part })
      for (const row of rows) found.set(row.page, row)
    }
    return pages.map((page) => found.get(page) ?? { page, read_pages: 0, example: '' })
  }
}
