import { readFileSync } from 'node:fs'
import { type Classification, NOISE } from '../../../../schemas/classification.ts'
import { tokens } from '../normalise.ts'
import { knownNames, nameWords } from '../score-name.ts'
import { once } from '../sections.ts'
import { type CompiledWords, findSpans, type Hit } from '../word-table.ts'
import { featuresOf, type Subject } from './features.ts'

export const modelWeights = once(readWeights)

/** Probabilities that the holder of an AS is an access provider or a hoster; the rest is for other organisations. */
interface Shares {
  readonly isp: number
  readonly hosting: number
}

/**
 * Applies the model to a name that the rules do not know. Deterministic.
 * @param words the words of the name that count; all of them by default
 */
export function sharesOf(subject: Subject, words?: readonly string[]): Shares {
  const weights = modelWeights()
  let isp = 0
  let hosting = 0
  for (const feature of featuresOf(subject, words)) {
    const weight = weights.get(feature)
    if (weight === undefined) continue
    isp += weight.isp
    hosting += weight.hosting
  }
  const most = Math.max(isp, hosting, 0)
  const exponentials = { isp: Math.exp(isp - most), hosting: Math.exp(hosting - most), organisation: Math.exp(-most) }
  const sum = exponentials.isp + exponentials.hosting + exponentials.organisation
  return { isp: exponentials.isp / sum, hosting: exponentials.hosting / sum }
}

/** A vote, and the probability of noise. */
export interface Vote {
  readonly classification: 'isp' | 'hosting' | 'business' | undefined
  readonly noise: number
  /** Whether it is nearly a vote for noise. */
  readonly isDoubtful?: boolean
}

/**
 * Probability of noise from which the model votes for noise. A lower bound catches more noise and loses more organisations:
 * of the held-out labels of visitors, 83 % and 2.2 % with this one, 85 % and 3.1 % with 0.92, 86 % and 4.1 % with 0.9.
 */
const NOISE_SURE = 0.93
const BUSINESS_SURE = 0.1
/**
 * Probability of noise from which a name is doubtful: its events are stored without an account. Of the held-out networks and visitors, 14
 * between the two bounds are noise and 3 are organisations; from 0.86 on these would be 40 and 18.
 */
const DOUBTFUL = 0.915

/** Votes when the model is sure. The size and number of the AS can be enough for that. */
export function voteOn(subject: Subject): Vote {
  const { isp, hosting } = sharesOf(subject)
  const noise = isp + hosting
  if (noise >= NOISE_SURE) {
    return { classification: hosting > isp ? 'hosting' : 'isp', noise }
  }
  return { classification: noise <= BUSINESS_SURE ? 'business' : undefined, noise, isDoubtful: noise >= DOUBTFUL }
}

/**
 * Probability of noise below which the model overrules words for noise, by their weight: `Eskom Holdings` is no carrier,
 * although it ends like one. Chosen on labels: below these bounds are as many organisations as providers, and above them few.
 */
const ORGANISATION_OVERRULES: ReadonlyMap<number, number> = new Map([
  [2, 0.4],
  [3, 0.3],
])
/** Heaviest word for a trade that the model overrules, when it would vote for noise without the word. */
const TRADE_WEIGHT_MAX = 5

/**
 * The vote of the model against the words that decided, when it is sure without them: `Cable Video Peru` sells cable television.
 * Undefined when the words keep their result, or nothing is known about the AS.
 */
export function overrule(
  subject: Subject,
  decided: { classification: Classification; weight: number },
): Vote | undefined {
  if (subject.asAddresses === undefined) return undefined
  const isNoise = NOISE.has(decided.classification)
  const organisationBound = isNoise ? ORGANISATION_OVERRULES.get(decided.weight) : undefined
  const isTrade = decided.classification === 'business' && decided.weight <= TRADE_WEIGHT_MAX
  if (organisationBound === undefined && !isTrade) return undefined
  const { isp, hosting } = sharesOf(subject, withoutDeciding(tokens(subject.name)))
  const noise = isp + hosting
  if (organisationBound !== undefined)
    return noise < organisationBound ? { classification: undefined, noise } : undefined
  return noise >= NOISE_SURE ? { classification: hosting > isp ? 'hosting' : 'isp', noise } : undefined
}

/** The weights of a feature for an access provider and for a hoster, relative to an organisation. */
interface Weight {
  readonly isp: number
  readonly hosting: number
}

/** `data/model.tsv` holds weights as multiples of this. */
export const WEIGHT_UNIT = 0.01
/** Parses the text of `data/model.tsv`. @throws Error with the number of a malformed line */
export function parseWeights(text: string): Map<string, Weight> {
  const weights = new Map<string, Weight>()
  const lines = text.trimEnd().split('\n')
  for (const [i, line] of lines.entries()) {
    if (i === 0) continue
    const [feature, isp, hosting, ...rest] = line.split('\t')
    const weight = { isp: Number(isp) * WEIGHT_UNIT, hosting: Number(hosting) * WEIGHT_UNIT }
    if (!feature || rest.length > 0 || Number.isNaN(weight.isp) || Number.isNaN(weight.hosting)) {
      throw new Error(`model.tsv:${i + 1}: "${line}" is not a weight`)
    }
    weights.set(feature, weight)
  }
  return weights
}

/** Reads `data/model.tsv`. */
export function readWeights(): Map<string, Weight> {
  return parseWeights(readFileSync(new URL('../data/model.tsv', import.meta.url), 'utf8'))
}

/** Minimum weight of a word that decides alone. */
const NOISE_DECIDES = 2
const ORGANISATION_DECIDES = 3

/** The words of a name without the words and parts of words that decide. */
export function withoutDeciding(words: readonly string[]): string[] {
  return without(knownNames(), without(nameWords(), words))
}

function without(table: CompiledWords, words: readonly string[]): string[] {
  const left: string[] = [...words]
  for (const { hit, at, count } of findSpans(table, words)) {
    if (!decides(hit)) continue
    if (count > 1) left.fill('', at, at + count)
    else left[at] = left[at]!.replace(hit.word, '')
  }
  return left.filter((word) => word.length > 1)
}

function decides({ classification, weight }: Hit): boolean {
  if (classification === 'neutral') return false
  return weight >= (NOISE.has(classification) ? NOISE_DECIDES : ORGANISATION_DECIDES)
}
