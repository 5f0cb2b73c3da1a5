import { NOISE } from '../../schemas/classification.ts'
import { classify, type Decision } from '../../src/enrichment/rules/classify.ts'
import { withoutDeciding } from '../../src/enrichment/rules/model/deciding.ts'
import { featuresOf, type Subject } from '../../src/enrichment/rules/model/features.ts'
import { tokens } from '../../src/enrichment/rules/normalise.ts'
import type { Example, ModelClass } from './train.ts'

/** The model learns only from decisions of these rules. */
const SURE = /^(?:as-number|known-name|name-word):/
/**
 * The rules recognise nearly all schools and authorities. Few of the names that are left are theirs, and the model should
 * learn to recognise businesses.
 */
const SCHOOL_OR_AUTHORITY_WEIGHT = 0.3

/**
 * Turns a name that the rules are sure of into examples for names that they do not know. The examples leave out the words
 * that decided. One has the size of the AS, and one does not, so that the model does not depend on it. Empty when the rules
 * are not sure.
 */
export function examplesOf(subject: Subject): Example[] {
  const decision = classify({ asn: subject.asn, asName: subject.name })
  const truth = SURE.test(decision.rule) ? modelClass(decision) : undefined
  if (truth === undefined) return []
  const words = withoutDeciding(tokens(subject.name))
  const nameOnly: Subject = { ...subject, asAddresses: undefined, asHasV6: undefined }
  const isWhole = truth !== 'organisation' || decision.classification === 'business'
  const weight = isWhole ? 1 : SCHOOL_OR_AUTHORITY_WEIGHT
  return [subject, nameOnly].map((given) => ({ features: featuresOf(given, words), truth, weight }))
}

function modelClass({ classification }: Decision): ModelClass | undefined {
  if (classification === undefined) return undefined
  if (!NOISE.has(classification)) return 'organisation'
  return classification === 'isp' ? 'isp' : 'hosting'
}
