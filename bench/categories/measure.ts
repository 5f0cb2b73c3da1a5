import { type CategoryWord, decidingWords } from '../../src/enrichment/rules/category.ts'
import { fold, tokens } from '../../src/enrichment/rules/normalise.ts'
import type { Section } from '../../src/enrichment/rules/sections.ts'
import { type CompiledWords, findWords, indexWords } from '../../src/enrichment/rules/word-table.ts'
import type { Organisation } from './organisations.ts'

/** A word is kept from this precision on. */
export const PRECISION_MIN = 0.93
/** A word with this many organisations is judged by its own figures. */
export const SUPPORT_MIN = 5
/**
 * Rarer words are judged by the rare words of their section together, whose precision must be above this with a
 * confidence of 97.5 % (lower bound of Wilson's interval): 12 of 12, or 18 of 19.
 */
export const SECTION_BOUND_MIN = 0.75
const WEIGHT = 2
const WORD_WIDTH = 118

/** A word to measure. */
export interface Candidate {
  readonly entry: string
  /** The number of its section: words for one idea. */
  readonly section: number
  /** Undefined for a phrase that hides the words inside it. */
  readonly category: string | undefined
  readonly industry: string | undefined
  readonly weight: number
}

/** Organisations with a word that decides, and those of them for which it is right. */
interface Count {
  seen: number
  right: number
}

interface Figures {
  readonly category: Count
  readonly industry: Count
}

interface TableWord extends CategoryWord {
  readonly candidate: Candidate
}

/** A kept word with its precision, own or of its section. */
export interface MeasuredWord {
  readonly candidate: Candidate
  readonly precision: number
  /** Undefined when the word does not say the industry as precisely. */
  readonly industryPrecision: number | undefined
}

/** Reads the sections of `candidates.txt`. */
export function candidatesOf(sections: readonly Section[]): Candidate[] {
  return sections.flatMap(({ heading, entries }, section) => {
    const [category, industry, weight] = heading.join(' ').split(/ *; */)
    const given = {
      section,
      category: namedValue(category),
      industry: namedValue(industry),
      weight: Number(weight ?? WEIGHT),
    }
    return entries.map((entry) => ({ entry, ...given }))
  })
}

function namedValue(text: string | undefined): string | undefined {
  return text === '-' ? undefined : text
}

/**
 * Measures each candidate as the product uses it: among the organisations in whose name it decides. Drops those that fail
 * and measures the rest again, until all hold.
 */
export function measureWords(candidates: readonly Candidate[], organisations: readonly Organisation[]) {
  const rareLost = new Map<number, Figures>()
  let kept = candidates
  for (;;) {
    const figures = figuresOf(kept, organisations)
    const rare = rareFigures(kept, figures, rareLost)
    const words: (MeasuredWord | Candidate)[] = []
    for (const candidate of kept) {
      if (candidate.category === undefined) words.push(candidate)
      else {
        const own = figures.get(candidate)
        const measured = judge(candidate, own, rare.get(candidate.section))
        if (measured !== undefined) words.push(measured)
        else if (own !== undefined && own.category.seen < SUPPORT_MIN) add(rareLost, candidate.section, own)
      }
    }
    const measured = words.filter((word) => 'precision' in word)
    const hiding = hidingPhrases(kept, measured)
    const next = [...measured.map(({ candidate }) => candidate), ...hiding]
    if (next.length === kept.length && measured.length === kept.filter(({ category }) => category).length)
      return { measured: withoutRedundant(measured), hiding }
    kept = next
  }
}

/** Without the phrases that say nothing more than their words: `university of applied sciences`. */
function withoutRedundant(measured: readonly MeasuredWord[]): MeasuredWord[] {
  const bySingle = new Map(
    measured.filter(({ candidate }) => isSingle(candidate)).map((word) => [word.candidate, word]),
  )
  const table = tableOf([...bySingle.keys()])
  return measured.filter(({ candidate, industryPrecision }) => {
    if (isSingle(candidate)) return true
    const inner = findWords(table, tokens(candidate.entry)).map((word) => bySingle.get(word.candidate)!)
    const says = inner.some(
      (word) =>
        word.candidate.weight === candidate.weight &&
        (industryPrecision === undefined
          ? word.industryPrecision === undefined
          : word.industryPrecision !== undefined && word.candidate.industry === candidate.industry),
    )
    return !says || inner.some((word) => word.candidate.category !== candidate.category)
  })
}

function isSingle({ entry }: Candidate): boolean {
  return tokens(entry.replaceAll('*', '')).length === 1
}

/** A dropped phrase still hides the words inside it: no bank is seen in a `food bank`. */
function hidingPhrases(kept: readonly Candidate[], measured: readonly MeasuredWord[]): Candidate[] {
  const isMeasured = new Set(measured.map(({ candidate }) => candidate))
  const table = tableOf([...isMeasured])
  return kept
    .filter((candidate) => !isMeasured.has(candidate))
    .filter(({ entry, category }) => {
      const words = tokens(fold(entry).replaceAll('*', ''))
      if (words.length === 1 && category !== undefined) return false
      return findWords(table, words).length > 0
    })
    .map((candidate) => ({ ...candidate, category: undefined, industry: undefined }))
}

function tableOf(candidates: readonly Candidate[]): CompiledWords<TableWord> {
  return indexWords(candidates, (candidate, word) => ({
    word,
    candidate,
    weight: candidate.weight,
    category: candidate.category === undefined ? undefined : { value: candidate.category, precision: 1 },
    industry: undefined,
  }))
}

function figuresOf(candidates: readonly Candidate[], organisations: readonly Organisation[]) {
  const table = tableOf(candidates)
  const figures = new Map<Candidate, Figures>()
  for (const organisation of organisations) {
    const deciding = new Set(organisation.names.flatMap((name) => decidingWords(name, table)))
    for (const { candidate } of deciding) {
      const { category, industry } = getOrAdd(figures, candidate, noFigures)
      const isRight = organisation.category === candidate.category
      count(category, isRight)
      // A wrong category has a wrong industry, too.
      if (!isRight || organisation.industry !== undefined)
        count(industry, isRight && organisation.industry === candidate.industry)
    }
  }
  return figures
}

function rareFigures(
  candidates: readonly Candidate[],
  figures: ReadonlyMap<Candidate, Figures>,
  lost: ReadonlyMap<number, Figures>,
): Map<number, Figures> {
  const rare = new Map<number, Figures>()
  for (const [section, its] of lost) add(rare, section, its)
  for (const candidate of candidates) {
    const own = figures.get(candidate)
    if (own !== undefined && (own.category.seen < SUPPORT_MIN || share(own.category) >= PRECISION_MIN))
      add(rare, candidate.section, own)
  }
  return rare
}

function judge(candidate: Candidate, own: Figures | undefined, section: Figures | undefined): MeasuredWord | undefined {
  const precision = precisionOf(own?.category, section?.category)
  if (precision === undefined) return undefined
  const industryPrecision = candidate.industry === undefined ? undefined : precisionOf(own?.industry, section?.industry)
  return { candidate, precision, industryPrecision }
}

/** Undefined when it is too low. */
function precisionOf(own: Count | undefined, section: Count | undefined): number | undefined {
  if (own !== undefined && own.seen >= SUPPORT_MIN) return share(own) >= PRECISION_MIN ? share(own) : undefined
  if (own !== undefined && own.right < own.seen) return undefined
  if (section === undefined || share(section) < PRECISION_MIN || lowerBound(section) < SECTION_BOUND_MIN)
    return undefined
  return share(section)
}

function share({ seen, right }: Count): number {
  return seen === 0 ? 0 : right / seen
}

/** The lower bound of Wilson's 95 % interval. */
export function lowerBound({ seen, right }: Count): number {
  if (seen === 0) return 0
  const z = 1.96
  const p = right / seen
  const spread = z * Math.sqrt((p * (1 - p)) / seen + (z * z) / (4 * seen * seen))
  return (p + (z * z) / (2 * seen) - spread) / (1 + (z * z) / seen)
}

function count(counts: Count, isRight: boolean): void {
  counts.seen++
  if (isRight) counts.right++
}

function noFigures(): Figures {
  return { category: { seen: 0, right: 0 }, industry: { seen: 0, right: 0 } }
}

function add(sums: Map<number, Figures>, section: number, { category, industry }: Figures): void {
  const sum = getOrAdd(sums, section, noFigures)
  sum.category.seen += category.seen
  sum.category.right += category.right
  sum.industry.seen += industry.seen
  sum.industry.right += industry.right
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}

/** The text of `categories.txt`. */
export function formatCategories(measured: readonly MeasuredWord[], hiding: readonly Candidate[]): string {
  const sections = new Map<string, string[]>()
  for (const { candidate, precision, industryPrecision } of measured) {
    const { category, industry, weight, entry } = candidate
    const stated = industryPrecision === undefined ? '-' : `${industry} ${rounded(industryPrecision)}`
    getOrAdd(sections, `${category} ${rounded(precision)}; ${stated}; ${weight}`, () => []).push(entry)
  }
  sections.set(
    '-',
    hiding.map(({ entry }) => entry),
  )
  const texts = [...sections]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([heading, entries]) => `\n[${heading}]\n${wrapped([...entries].sort())}`)
  return HEADER + texts.join('')
}

const HEADER = `# Words of names that say what their holder does. Written by bench/measure-categories.ts: change
# bench/categories/candidates.txt instead, and run it. A heading has category and industry, both with the measured precision,
# and the weight: the heaviest word of a name decides. The phrases under [-] hide the words inside them.
`

/** Rounded down, so that no precision is overstated. */
function rounded(precision: number): string {
  return (Math.floor(precision * 100 + 1e-9) / 100).toFixed(2)
}

function wrapped(entries: readonly string[]): string {
  let text = ''
  let line = ''
  for (const entry of entries) {
    if (line !== '' && line.length + entry.length + 2 > WORD_WIDTH) {
      text += `${line}\n`
      line = entry
    } else line = line === '' ? entry : `${line}, ${entry}`
  }
  return `${text}${line}\n`
}
