import { type Classification, NOISE, NOISE_CLASSES } from '../../../schemas/classification.ts'
import { isGenericWord, type Name, readName, TEXT_MAX } from './normalise.ts'
import { once, readSections } from './sections.ts'
import { compileWords, findSpans, findWords, type Hit, longest, wordLists } from './word-table.ts'

/** The class that the words of a name imply. */
export interface NameFinding {
  readonly classification: Classification
  /** The heaviest word for it. */
  readonly word: string
  /** Total weight of the words for it. */
  readonly weight: number
  /** The whole name is known, not only words in it. */
  readonly known: boolean
}

/** Files of `data/` with weighted words. The order counts if several match. */
const WORD_FILES = ['isp.txt', 'hosting.txt', 'education.txt', 'government.txt', 'business.txt']

/** Names that decide before all words. */
export const knownNames = once(() => compileWords(wordLists(readSections('known-names.txt'))))
/** @throws Error when a word is in two lists */
export const nameWords = once(() => compileWords(WORD_FILES.flatMap((file) => wordLists(readSections(file)))))

/**
 * Minimum weight of the words for noise. The holder of an AS runs a network, so a word such as "net" is enough. Most
 * companies in a company database do not run one.
 */
export type NameOf = 'as' | 'organisation'
const NOISE_MIN_WEIGHT: Readonly<Record<NameOf, number>> = { as: 2, organisation: 3 }
/** A single weak word such as "research" or "agency" does not make a school or a government. */
const ORGANISATION_MIN_WEIGHT = 3
/** Minimum weight of the words for a trade to override a known name of one word. */
const OUTWEIGHS_KNOWN_WORD = 4
/** A handle next to a description is an abbreviation: the NET in `ACME-NET` is no evidence about Acme. */
const HANDLE_MIN_WEIGHT = 3
/** A name that ends with a provider's word of this weight is a provider's, unless other words for an organisation are heavier. */
const HEAD_MIN_WEIGHT = 4
const BEFORE_HEAD_MAX = 5
/** Breaks ties: specific classes before general ones. */
const PRECEDENCE: readonly Classification[] = ['education', 'government', 'business', ...[...NOISE_CLASSES].reverse()]

/** `Ivo Kibo trading as Kibo Networks`: the legal name, then the trade name. */
const TRADE_NAME = /(?<![\p{L}\p{N}])(?:trading as|doing business as|t\/a|d\/b\/a|dba)(?![\p{L}\p{N}])(.+)$/isu

/**
 * Classifies a name: by known names first, then by the weight of its words. The trade name goes before the whole text.
 * Undefined when no word matches.
 */
export function readNameWords(text: string, nameOf: NameOf): NameFinding | undefined {
  const tradeName = TRADE_NAME.exec(text.slice(0, TEXT_MAX))?.[1]
  return (tradeName === undefined ? undefined : readOne(tradeName, nameOf)) ?? readOne(text, nameOf)
}

function readOne(text: string, nameOf: NameOf): NameFinding | undefined {
  const name = readName(text)
  const known = findKnown(name)
  const words = weigh(name, nameOf)
  if (known === undefined) return words
  // "Cogent Biosciences" shares a word with a carrier; "Comcast" alone is one.
  return isOneWord(known) && isNoise(known) && outweighs(words) ? words : known
}

/** As `readNameWords`, without the known names. */
export function readWords(text: string, nameOf: NameOf): NameFinding | undefined {
  return weigh(readName(text), nameOf)
}

function outweighs(words: NameFinding | undefined): words is NameFinding {
  return words !== undefined && !isNoise(words) && words.weight >= OUTWEIGHS_KNOWN_WORD
}

function isOneWord({ word }: NameFinding): boolean {
  return !word.includes(' ')
}

function isNoise({ classification }: NameFinding): boolean {
  return NOISE.has(classification)
}

function findKnown({ handle, description }: Name): NameFinding | undefined {
  const known = knownNames()
  const hit = longest(findWords(known, description)) ?? longest(findWords(known, handle))
  if (hit === undefined || hit.classification === 'neutral') return undefined
  return { classification: hit.classification, word: hit.word, weight: hit.weight, known: true }
}

function weigh(name: Name, nameOf: NameOf): NameFinding | undefined {
  const words = nameWords()
  const described = name.description.length > 0
  const hits = withoutModifiers(
    withoutYielding([
      ...findWords(words, name.description),
      ...findWords(words, name.handle).filter((hit) => !described || hit.weight >= HANDLE_MIN_WEIGHT),
    ]),
    headOf(described ? name.description : name.handle),
  )
  const weights = sumByClass(hits)
  let noise = 0
  let organisation = 0
  for (const [classification, weight] of weights) {
    if (NOISE.has(classification)) noise += weight
    else organisation += weight
  }
  // On a tie the organisation wins: losing a customer is worse than passing an access provider.
  const outweighed = noise > organisation && noise >= NOISE_MIN_WEIGHT[nameOf]
  if (!outweighed && organisation === 0) return undefined
  const classification = heaviestClass(weights, outweighed)
  if (!outweighed && (weights.get(classification) ?? 0) < ORGANISATION_MIN_WEIGHT) return undefined
  const weight = weights.get(classification) ?? 0
  return { classification, word: heaviestWord(hits, classification), weight, known: false }
}

/** "Mifflin County Wireless" is a provider named after a place, not the county itself. */
function withoutYielding(hits: readonly Hit[]): readonly Hit[] {
  const isProvider = hits.some(
    ({ classification, weight }) =>
      classification !== 'neutral' && NOISE.has(classification) && weight >= NOISE_MIN_WEIGHT.as,
  )
  return isProvider ? hits.filter((hit) => !hit.yields) : hits
}

/** The last word that is no legal form: `telecom` in "Railway Telecom, Ltd". */
function headOf(words: readonly string[]): Hit | undefined {
  const end = words.findLastIndex((word) => !isGenericWord(word)) + 1
  return findSpans(nameWords(), words).find(({ at, count }) => at < end && at + count >= end)?.hit
}

/** "Railway Telecom" is the telecom of a railway: its trades name the owner, and the last word the business. */
function withoutModifiers(hits: readonly Hit[], head: Hit | undefined): readonly Hit[] {
  if (head?.classification !== 'isp' || head.weight < HEAD_MIN_WEIGHT) return hits
  return hits.filter((hit) => hit.classification !== 'business' || hit.weight > BEFORE_HEAD_MAX)
}

function sumByClass(hits: readonly Hit[]): Map<Classification, number> {
  const counted = new Set<string>()
  const weights = new Map<Classification, number>()
  for (const { word, classification, weight } of hits) {
    if (classification === 'neutral' || counted.has(word)) continue
    counted.add(word)
    weights.set(classification, (weights.get(classification) ?? 0) + weight)
  }
  return weights
}

function heaviestClass(weights: ReadonlyMap<Classification, number>, noise: boolean): Classification {
  let best: Classification | undefined
  for (const classification of PRECEDENCE) {
    const weight = weights.get(classification) ?? 0
    if (NOISE.has(classification) !== noise || weight === 0) continue
    if (best === undefined || weight > weights.get(best)!) best = classification
  }
  return best ?? 'business'
}

function heaviestWord(hits: readonly Hit[], classification: Classification): string {
  return hits
    .filter((hit) => hit.classification === classification)
    .reduce((best, hit) => (hit.weight > best.weight ? hit : best)).word
}
