import type { Classification } from '../../../schemas/classification.ts'
import { remembered } from '../bounded-cache.ts'
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

/** A word of any table that matches a name. */
export interface Match {
  /** Without `*`. */
  readonly word: string
  readonly weight: number
}

/** A word of a table of classes that matches a name. */
export interface Hit extends Match {
  readonly classification: Classification | 'neutral'
  readonly yields: boolean
}

interface Phrase<M extends Match> {
  readonly match: M
  readonly tokens: readonly string[]
}

/** Word tables, indexed for search. */
export interface CompiledWords<M extends Match = Hit> extends WordIndex<M> {
  /** The match of a single word. */
  readonly find: (word: string) => Found<M>
  /** By first word, longest first. */
  readonly phrases: ReadonlyMap<string, readonly Phrase<M>[]>
}

interface Found<M extends Match> {
  readonly match: M | undefined
}

/** The entries that are no phrases. */
interface WordIndex<M extends Match> {
  readonly exact: ReadonlyMap<string, M>
  readonly prefixes: ReadonlyMap<string, M>
  readonly suffixes: ReadonlyMap<string, M>
  readonly infixes: readonly M[]
  /** Infixes in scripts without spaces. */
  readonly unspaced: readonly M[]
  /** Length of the longest prefix or suffix. */
  readonly affixMax: number
}

/** Thai, Chinese and Japanese have no spaces; Korean attaches endings to words. */
const UNSPACED = /[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/
const MIN_AFFIX = 2
/** Words whose matches a table remembers. A word that is none of its entries takes 40 searches for its parts. */
const WORDS_MAX = 4_000

/** Compiles word lists. @throws Error when a word is in two lists, because the result would depend on their order */
export function compileWords(lists: readonly WordList[]): CompiledWords {
  const entries = lists.flatMap(({ classification, weight, yields = false, words }) =>
    words.map((entry) => ({ entry, classification, weight, yields })),
  )
  return indexWords(entries, ({ classification, weight, yields }, word) => ({ word, classification, weight, yields }))
}

/**
 * Indexes the entries of data files: `word`, `word*`, `*word`, `*word*` or a phrase.
 * @throws Error when an entry is given twice, because the result would depend on their order
 */
export function indexWords<E extends { readonly entry: string }, M extends Match>(
  entries: readonly E[],
  matchOf: (entry: E, word: string) => M,
): CompiledWords<M> {
  const exact = new Map<string, M>()
  const prefixes = new Map<string, M>()
  const suffixes = new Map<string, M>()
  const infixes: M[] = []
  const unspaced: M[] = []
  const phrases = new Map<string, Phrase<M>[]>()
  const seen = new Set<string>()
  for (const given of entries) {
    const entry = fold(given.entry)
    const word = entry.replaceAll('*', '')
    const match = matchOf(given, word)
    if (seen.has(entry)) throw new Error(`the tables contain a word twice: ${entry}`)
    seen.add(entry)
    const parts = tokens(word)
    if (parts.length > 1) addPhrase(phrases, { match, tokens: parts })
    else if (UNSPACED.test(word)) unspaced.push(match)
    else if (entry.startsWith('*') && entry.endsWith('*')) infixes.push(match)
    else if (entry.startsWith('*')) suffixes.set(word, match)
    else if (entry.endsWith('*')) prefixes.set(word, match)
    else exact.set(word, match)
  }
  for (const list of phrases.values()) list.sort((a, b) => b.tokens.length - a.tokens.length)
  const affixMax = Math.max(0, ...[...prefixes.keys(), ...suffixes.keys()].map((affix) => affix.length))
  const index = { exact, prefixes, suffixes, infixes, unspaced, affixMax }
  return { ...index, phrases, find: remembered((word) => ({ match: findWord(index, word) }), WORDS_MAX) }
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

function addPhrase<M extends Match>(phrases: Map<string, Phrase<M>[]>, phrase: Phrase<M>): void {
  const first = phrase.tokens[0]!
  const list = phrases.get(first)
  if (list === undefined) phrases.set(first, [phrase])
  else list.push(phrase)
}

/** A match, and the `count` words of the name from `at` that it covers. */
export interface Span<M extends Match> {
  readonly hit: M
  readonly at: number
  readonly count: number
}

/** Matches the words of a name: phrases before single words, then the whole word before its longest part. */
export function findWords<M extends Match>(table: CompiledWords<M>, words: readonly string[]): M[] {
  return findSpans(table, words).map(({ hit }) => hit)
}

/** As `findWords`, with positions. */
export function findSpans<M extends Match>(table: CompiledWords<M>, words: readonly string[]): Span<M>[] {
  const spans: Span<M>[] = []
  for (let at = 0; at < words.length; ) {
    const phrase = findPhrase(table, words, at)
    const hit = phrase?.match ?? table.find(words[at]!).match
    const count = phrase?.tokens.length ?? 1
    if (hit !== undefined) spans.push({ hit, at, count })
    at += count
  }
  return spans
}

function findPhrase<M extends Match>(
  table: CompiledWords<M>,
  words: readonly string[],
  at: number,
): Phrase<M> | undefined {
  return table.phrases.get(words[at]!)?.find(({ tokens }) => tokens.every((token, i) => words[at + i] === token))
}

function findWord<M extends Match>(table: WordIndex<M>, word: string): M | undefined {
  const whole = table.exact.get(word)
  if (whole !== undefined) return whole
  if (UNSPACED.test(word)) return heaviest(table.unspaced.filter((match) => word.includes(match.word)))
  const infix = longest(table.infixes.filter((match) => word.includes(match.word)))
  const least = Math.max(MIN_AFFIX, infix?.word.length ?? 0)
  for (let length = Math.min(word.length, table.affixMax); length >= least; length--) {
    const match = table.prefixes.get(word.slice(0, length)) ?? table.suffixes.get(word.slice(word.length - length))
    if (match !== undefined) return match
  }
  return infix
}

/** The first of the longest matches. */
export function longest<M extends Match>(matches: readonly M[]): M | undefined {
  return matches.reduce<M | undefined>(
    (best, match) => (best === undefined || match.word.length > best.word.length ? match : best),
    undefined,
  )
}

/** The heaviest match; of equal ones, the longest. */
function heaviest<M extends Match>(matches: readonly M[]): M | undefined {
  return matches.reduce<M | undefined>((best, match) => {
    if (best === undefined) return match
    return match.weight > best.weight || (match.weight === best.weight && match.word.length > best.word.length)
      ? match
      : best
  }, undefined)
}
