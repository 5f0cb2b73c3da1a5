import { classify } from '../../src/enrichment/rules/classify.ts'
import { featuresOf, type Subject } from '../../src/enrichment/rules/model/features.ts'
import { withoutDeciding } from '../../src/enrichment/rules/model/vote.ts'
import { tokens } from '../../src/enrichment/rules/normalise.ts'
import { type Label, modelClassOf } from './labelled.ts'
import type { Example } from './train.ts'

/** The model learns only from decisions of these rules. */
const SURE = /^(?:as-number|known-name|name-word):/
/**
 * The rules recognise nearly all schools and authorities. Few of the names that are left are theirs, and the model should
 * learn to recognise businesses.
 */
const SCHOOL_OR_AUTHORITY_WEIGHT = 0.3
/** A label counts more than a decision of the rules, because most labelled names are of the kind that rules do not know. */
const LABEL_WEIGHT = 5
const DOUBTFUL_LABEL_WEIGHT = 3

/**
 * Turns a name that the rules are sure of, or that has a label, into examples for names that they do not know. The examples
 * leave out the words that decided. One has the address space of the AS, and one does not, so that the model does not depend
 * on it. Empty when the class is not known.
 */
export function examplesOf(subject: Subject, label?: Label): Example[] {
  const known = label === undefined ? decided(subject) : labelled(label)
  if (known === undefined) return []
  const words = withoutDeciding(tokens(subject.name))
  const nameOnly: Subject = { ...subject, asAddresses: undefined, asHasV6: undefined, asScatter: undefined }
  return [subject, nameOnly].map((given) => ({ features: featuresOf(given, words), ...known }))
}

type Known = Pick<Example, 'truth' | 'weight'>

function labelled({ classification, sure }: Label): Known {
  return { truth: modelClassOf(classification), weight: sure ? LABEL_WEIGHT : DOUBTFUL_LABEL_WEIGHT }
}

function decided({ asn, name }: Subject): Known | undefined {
  const { rule, classification } = classify({ asn, asName: name })
  if (!SURE.test(rule) || classification === undefined) return undefined
  const isWhole = classification !== 'education' && classification !== 'government'
  return { truth: modelClassOf(classification), weight: isWhole ? 1 : SCHOOL_OR_AUTHORITY_WEIGHT }
}
