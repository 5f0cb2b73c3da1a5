import { type Classification, NOISE } from '../../../schemas/classification.ts'
import { categoryOfName } from './category.ts'
import { type NameFinding, type NameOf, readNameWords } from './score-name.ts'

/** Classes of public bodies, by category. */
const PUBLIC: ReadonlyMap<string, Classification> = new Map([
  ['Government', 'government'],
  ['Education', 'education'],
])
/** Categories of access providers and hosters too: municipal utilities and software companies run networks for others. */
const OF_PROVIDERS: ReadonlySet<string> = new Set(['Telecommunications', 'Infrastructure', 'Technology', 'Energy'])
/** As a word for a trade, a category decides unless the model is sure. */
const CATEGORY_WEIGHT = 4

/**
 * As `readNameWords`, and the class follows the category that the name states: a holder of the category Government is no business.
 * Names without a word for a class get the one of their category.
 */
export function readNameAndCategory(name: string, nameOf: NameOf): NameFinding | undefined {
  const finding = readNameWords(name, nameOf)
  if (finding !== undefined && (finding.known || NOISE.has(finding.classification))) return finding
  const stated = categoryOfName(name)?.category
  if (stated === undefined) return finding
  const classification = PUBLIC.get(stated.value)
  if (classification === undefined) {
    if (finding !== undefined || OF_PROVIDERS.has(stated.value)) return finding
    return { classification: 'business', word: stated.word, weight: CATEGORY_WEIGHT, known: false }
  }
  if (finding?.classification === classification) return finding
  return { classification, word: stated.word, weight: CATEGORY_WEIGHT, known: false }
}
