import { NOISE } from '../../../schemas/classification.ts'
import { remembered } from '../bounded-cache.ts'
import { readName } from './normalise.ts'
import { nameWords } from './score-name.ts'
import { once, readSections, type Section } from './sections.ts'
import { type CompiledWords, findWords, type Hit, indexWords, type Match } from './word-table.ts'

/** A category or an industry that a word states. */
export interface Stated {
  readonly value: string
  /** The word that decided, folded and without `*`. */
  readonly word: string
  /** The measured share of organisations with this word for which the value is right, 0 to 1. */
  readonly precision: number
}

/** The trade of a holder by the words of its name, in the vocabulary of the starter organisations. */
export interface NameCategory {
  readonly category: Stated
  /** Undefined when no word says it as precisely as the category. */
  readonly industry: Stated | undefined
}

/** A value with its measured precision. */
export interface Measured {
  readonly value: string
  readonly precision: number
}

/** A word for a category. Without a category it hides the words inside it. */
export interface CategoryWord extends Match {
  readonly category: Measured | undefined
  readonly industry: Measured | undefined
}

/** The words of `data/categories.txt`, which `bench/measure-categories.ts` writes. */
export const categoryWords = once(() => compileCategories(readSections('categories.txt')))

/**
 * Derives category and industry from the words of a name. The heaviest word decides, and words of equal weight must agree.
 * @param name a registered name in any script, or an AS name with its handle
 * @returns undefined when no word decides
 */
export function categoryOfName(name: string): NameCategory | undefined {
  return stateCategory(name).category
}

/** As `categoryOfName`, as an object. */
export const stateCategory = remembered((name) => ({ category: categoryIn(name) }))

function categoryIn(name: string): NameCategory | undefined {
  const words = decidingWords(name, categoryWords())
  const [best] = words.toSorted((a, b) => b.category!.precision - a.category!.precision)
  if (best === undefined) return undefined
  const { word, category, industry } = best
  const agreed = industry !== undefined && words.every((other) => other.industry?.value === industry.value)
  return { category: { ...category!, word }, industry: agreed ? { ...industry, word } : undefined }
}

/** The heaviest words of a name, all with a category; none when they disagree about it, or next to a provider's word. */
export function decidingWords<W extends CategoryWord>(name: string, table: CompiledWords<W>): readonly W[] {
  const { handle, description } = readName(name)
  const words = description.length > 0 ? description : handle
  const matches = findWords(table, words).filter((word) => word.category)
  if (matches.length === 0 || findWords(nameWords(), words).some(isOfProvider)) return []
  const weight = Math.max(...matches.map((match) => match.weight))
  const heaviest = matches.filter((match) => match.weight === weight)
  const value = heaviest[0]?.category?.value
  return heaviest.every(({ category }) => category?.value === value) ? heaviest : []
}

/** `Railway Telecom` is a telecom company, although the rules keep its visits. */
function isOfProvider({ classification, weight }: Hit): boolean {
  return classification !== 'neutral' && NOISE.has(classification) && weight >= PROVIDER_WEIGHT_MIN
}

/** Weaker words, such as "net", are in the names of other trades, too. */
const PROVIDER_WEIGHT_MIN = 3

/**
 * Compiles the sections of `categories.txt`. A heading has a category, an industry or `-`, both with their precision, and a
 * weight: `[Finance 0.99; Banking 0.97; 3]`. The entries under `[-]` hide the words inside them.
 * @throws Error with the heading
 */
function compileCategories(sections: readonly Section[]): CompiledWords<CategoryWord> {
  const entries = sections.flatMap(({ heading, entries }) => {
    const text = heading.join(' ')
    const [category, industry, weight, ...rest] = text.split(';').map((part) => part.trim())
    const isHiding = text === '-'
    if (!isHiding && (!/^\d$/.test(weight ?? '') || rest.length > 0)) throw headingError(text)
    const given = isHiding
      ? { category: undefined, industry: undefined, weight: 0 }
      : { category: measuredIn(category!, text), industry: measuredIn(industry!, text), weight: Number(weight) }
    if (!isHiding && given.category === undefined) throw headingError(text)
    return entries.map((entry) => ({ entry, ...given }))
  })
  return indexWords(entries, ({ category, industry, weight }, word) => ({ word, category, industry, weight }))
}

/** Parses `Higher Education 0.98`; undefined for `-`. */
function measuredIn(text: string, heading: string): Measured | undefined {
  if (text === '-') return undefined
  const parts = /^(\D+) ([01]\.\d\d)$/.exec(text)
  if (parts === null) throw headingError(heading)
  return { value: parts[1]!, precision: Number(parts[2]) }
}

function headingError(heading: string): Error {
  return new Error(`[${heading}] is not a heading of categories.txt`)
}
