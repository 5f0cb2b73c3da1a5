import { NOISE } from '../../../../schemas/classification.ts'
import { knownNames, nameWords } from '../score-name.ts'
import { type CompiledWords, findSpans, type Hit } from '../word-table.ts'

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
