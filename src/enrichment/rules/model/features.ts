import { fold, isGenericWord, TEXT_MAX, tokens } from '../normalise.ts'
import { firstByteOf, scatterFeatures } from './scatter.ts'

/** The input of the model. */
export interface Subject {
  readonly name: string
  readonly asn: number | undefined
  /** IPv4 addresses that the AS announces; undefined when unknown. */
  readonly asAddresses: number | undefined
  readonly asHasV6: boolean | undefined
  /** `packScatter` of these addresses. */
  readonly asScatter: number | undefined
}

/** Lengths of the character n-grams of a word. */
const NGRAM_MIN = 3
const NGRAM_MAX = 5
const WORDS_MAX = 12
/** IANA assigns AS numbers to the registries in blocks of 1024. */
const BLOCK_BITS = 10
/** 16 of these blocks together have the numbers of one region and a few years. */
const REGION_BITS = 14
/** Larger sizes count as this power of two. */
const SIZE_MAX = 22

/**
 * The features of a name and its AS: `w:soft` a word, `p:_sof` an n-gram (`_` is the edge of the word), `e:ltda` the last
 * word, `n:3` the number of words, `c:upper` the letter case, `b:257` the block of the AS number, `g:16` its region, also with the
 * last word and the first byte of the largest block, `s:10` the size as a power of two, also with the region and the last word,
 * `v:no` without IPv6, and those of `scatterFeatures`.
 */
export function featuresOf(subject: Subject, words: readonly string[] = tokens(subject.name)): Set<string> {
  const features = new Set<string>()
  const read = words.slice(0, WORDS_MAX)
  for (const word of read) {
    features.add(`w:${word}`)
    if (!isGenericWord(word)) addNgrams(features, word)
  }
  const last = read.length > 0 ? `e:${read.at(-1)!}` : undefined
  if (last !== undefined) features.add(last)
  features.add(`n:${Math.min(read.filter((word) => !isGenericWord(word)).length, 5)}`)
  features.add(`c:${styleOf(subject.name.slice(0, TEXT_MAX))}`)
  const region = subject.asn === undefined ? undefined : `g:${subject.asn >>> REGION_BITS}`
  if (region !== undefined) {
    features.add(`b:${subject.asn! >>> BLOCK_BITS}`)
    features.add(region)
    features.add(`${region} o:${firstByteOf(subject.asScatter ?? 0)}`)
    if (last !== undefined) features.add(`${last} ${region}`)
  }
  if (subject.asAddresses !== undefined) {
    const size =
      subject.asAddresses === 0 ? 'none' : `${Math.min(Math.round(Math.log2(subject.asAddresses)), SIZE_MAX)}`
    const v6 = subject.asHasV6 === true ? 'yes' : 'no'
    for (const beside of [region, last]) if (beside !== undefined) features.add(`${beside} s:${size}`)
    features.add(`s:${size}`)
    features.add(`v:${v6}`)
    features.add(`s:${size} v:${v6}`)
    for (const feature of scatterFeatures(subject.asScatter ?? 0, size, v6)) features.add(feature)
  }
  return features
}

function addNgrams(features: Set<string>, word: string): void {
  const whole = `_${word}_`
  for (let length = NGRAM_MIN; length <= NGRAM_MAX; length++) {
    for (let at = 0; at + length <= whole.length; at++) features.add(`p:${whole.slice(at, at + length)}`)
  }
}

function styleOf(name: string): 'upper' | 'mixed' | 'other' {
  if (!/[A-Za-z]{2}/.test(name)) return 'other'
  return name === name.toUpperCase() && fold(name) !== name ? 'upper' : 'mixed'
}
