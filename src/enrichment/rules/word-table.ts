import type { Classification } from '../../../schemas/classification.ts'
import { fold, tokens } from './normalise.ts'
import { classificationIn, type Section } from './sections.ts'

/**
 * Words of one classification and weight. `neutral` words do not count, and hide the words inside them. `word` matches a
 * whole word, `word*` a prefix, `*word` a suffix, `*word*` any part; several words are a phrase. Words of scripts without
 * spaces match anywhere. Words with `yields` do not count next to a word for noise.
 */
interface WordList {
  readonly classification: Classification | 'neutral'
  readonly weight: number
  readonly yields?: boolean
  readonly words: readonly string[]
}

/** A word of a table that matches a name. */
export interface Hit {
  readonly word: string
  readonly classification: Classification | 'neutral'
  readonly weight: number
  readonly yields: boolean
}

interface Phrase extends Hit {
  readonly tokens: readonly string[]
}

/** Word tables, indexed for search. */
export interface CompiledWords {
  readonly exact: ReadonlyMap<string, Hit>
  readonly prefixes: ReadonlyMap<string, Hit>
  readonly suffixes: ReadonlyMap<string, Hit>
  readonly infixes: readonly Hit[]
  /** Infixes in scripts without spaces. */
  readonly unspaced: readonly Hit[]
  /** Length of the longest prefix or suffix. */
  readonly affixMax: number
  /** By first word, longest first. */
  readonly phrases: ReadonlyMap<string, readonly Phrase[]>
}

/** Thai, Chinese and Japanese have no spaces; Korean attaches endings to words. */
const UNSPACED = /[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/
const MIN_AFFIX = 2

/** Compiles word lists. @throws Error when a word is in two lists, because the result would depend on their order */
export function compileWords(lists: readonly WordList[]): CompiledWords {
  const exact = new Map<string, Hit>()
  const prefixes = new Map<string, Hit>()
  const suffixes = new Map<string, Hit>()
  const infixes: Hit[] = []
  const unspaced: Hit[] = []
  const phrases = new Map<string, Phrase[]>()
  const seen = new Set<string>()
  for (const { classification, weight, yields = false, words } of lists) {
    for (const entry of words.map(fold)) {
      const word = entry.replaceAll('*', '')
      const hit: Hit = { word, classification, weight, yields }
      if (seen.has(entry)) throw new Error(`the tables contain a word twice: ${entry}`)
      seen.add(entry)
      const parts = tokens(word)
      if (parts.length > 1) addPhrase(phrases, { ...hit, tokens: parts })
      else if (UNSPACED.test(word)) unspaced.push(hit)
      else if (entry.startsWith('*') && entry.endsWith('*')) infixes.push(hit)
      else if (entry.startsWith('*')) suffixes.set(word, hit)
      else if (entry.endsWith('*')) prefixes.set(word, hit)
      else exact.set(word, hit)
    }
  }
  for (const list of phrases.values()) list.sort((a, b) => b.tokens.length - a.tokens.length)
  const affixMax = Math.max(0, ...[...prefixes.keys(), ...suffixes.keys()].map((affix) => affix.length))
  return { exact, prefixes, suffixes, infixes, unspaced, affixMax, phrases }
}

/**
 * Word lists from sections. A heading such as `[isp 4]` has classification, weight and optionally `yields`.
 * @throws Error with the heading
 */
export function wordLists(sections: readonly Section[]): WordList[] {
  return sections.map(({ heading, entries }) => {
    const [word, weight, yields] = heading
    const isWhole = heading.length === 2 || (heading.length === 3 && yields === 'yields')
    if (!isWhole || !/^\d$/.test(weight!)) throw new Error(`[${heading.join(' ')}] is not a heading of a word list`)
    return {
      classification: word === 'neutral' ? word : classificationIn(word!),
      weight: Number(weight),
      yields: yields !== undefined,
      words: entries,
    }
  })
}

function addPhrase(phrases: Map<string, Phrase[]>, phrase: Phrase): void {
  const first = phrase.tokens[0]!
  const list = phrases.get(first)
  if (list === undefined) phrases.set(first, [phrase])
  else list.push(phrase)
}

/** A hit, and the `count` words of the name from `at` that it covers. */
interface Span {
  readonly hit: Hit
  readonly at: number
  readonly count: number
}

/** Matches the words of a name: phrases before single words, then the whole word before its longest part. */
export function findWords(table: CompiledWords, words: readonly string[]): Hit[] {
  return findSpans(table, words).map(({ hit }) => hit)
}

/** As `findWords`, with positions. */
export function findSpans(table: CompiledWords, words: readonly string[]): Span[] {
  const spans: Span[] = []
  for (let at = 0; at < words.length; ) {
    const phrase = findPhrase(table, words, at)
    const hit = phrase ?? findWord(table, words[at]!)
    const count = phrase?.tokens.length ?? 1
    if (hit !== undefined) spans.push({ hit, at, count })
    at += count
  }
  return spans
}

function findPhrase(table: CompiledWords, words: readonly string[], at: number): Phrase | undefined {
  return table.phrases.get(words[at]!)?.find(({ tokens }) => tokens.every((token, i) => words[at + i] === token))
}

function findWord(table: CompiledWords, word: string): Hit | undefined {
  const whole = table.exact.get(word)
  if (whole !== undefined) return whole
  if (UNSPACED.test(word)) return heaviest(table.unspaced.filter((hit) => word.includes(hit.word)))
  const infix = longest(table.infixes.filter((hit) => word.includes(hit.word)))
  const least = Math.max(MIN_AFFIX, infix?.word.length ?? 0)
  for (let length = Math.min(word.length, table.affixMax); length >= least; length--) {
    const hit = table.prefixes.get(word.slice(0, length)) ?? table.suffixes.get(word.slice(word.length - length))
    if (hit !== undefined) return hit
  }
  return infix
}

/** The first of the longest hits. */
export function longest(hits: readonly Hit[]): Hit | undefined {
  return hits.reduce<Hit | undefined>(
    (best, hit) => (best === undefined || hit.word.length > best.word.length ? hit : best),
    undefined,
  )
}

/** The heaviest hit; of equal ones, the longest. */
function heaviest(hits: readonly Hit[]): Hit | undefined {
  return hits.reduce<Hit | undefined>((best, hit) => {
    if (best === undefined) return hit
    return hit.weight > best.weight || (hit.weight === best.weight && hit.word.length > best.word.length) ? hit : best
  }, undefined)
}
