import { fold, isGenericWord, TEXT_MAX, tokens } from '../normalise.ts'

/** What the model looks at. */
export interface Subject {
  readonly name: string
  readonly asn: number | undefined
  /** IPv4 addresses that the AS announces; undefined when nobody counted. */
  readonly asAddresses: number | undefined
  readonly asHasV6: boolean | undefined
}

/** Letters of a part of a word. */
const PART_MIN = 3
const PART_MAX = 5
const WORDS_MAX = 12
/** Numbers of autonomous systems are given to the registries in blocks of 1024. */
const BLOCK_BITS = 10

/**
 * What a name and the size of its AS show, each once: `w:soft` a word, `p:_sof` a part of one (`_` is its edge), `e:ltda`
 * the last word, `n:3` the number of words, `b:257` the block of the number, `s:10` the size as a power of two, `v:no`
 * without IPv6.
 */
export function featuresOf(subject: Subject, words: readonly string[] = tokens(subject.name)): Set<string> {
  const features = new Set<string>()
  const read = words.slice(0, WORDS_MAX)
  for (const word of read) {
    features.add(`w:${word}`)
    if (!isGenericWord(word)) addParts(features, word)
  }
  if (read.length > 0) features.add(`e:${read.at(-1)!}`)
  features.add(`n:${Math.min(read.filter((word) => !isGenericWord(word)).length, 5)}`)
  features.add(`c:${styleOf(subject.name.slice(0, TEXT_MAX))}`)
  if (subject.asn !== undefined) features.add(`b:${subject.asn >>> BLOCK_BITS}`)
  if (subject.asAddresses !== undefined) {
    const size = subject.asAddresses === 0 ? 'none' : Math.min(Math.round(Math.log2(subject.asAddresses)), 22)
    const v6 = subject.asHasV6 === true ? 'yes' : 'no'
    features.add(`s:${size}`)
    features.add(`v:${v6}`)
    features.add(`s:${size} v:${v6}`)
  }
  return features
}

function addParts(features: Set<string>, word: string): void {
  const whole = `_${word}_`
  for (let length = PART_MIN; length <= PART_MAX; length++) {
    for (let at = 0; at + length <= whole.length; at++) features.add(`p:${whole.slice(at, at + length)}`)
  }
}

function styleOf(name: string): 'upper' | 'mixed' | 'other' {
  if (!/[A-Za-z]{2}/.test(name)) return 'other'
  return name === name.toUpperCase() && fold(name) !== name ? 'upper' : 'mixed'
}
