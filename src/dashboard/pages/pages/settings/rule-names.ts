import type { RuleKind, Unclassified } from '../../../../../schemas/tenant-rules.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.settings.ruleNames

/** Labels of rule kinds. */
export const RULE_KIND_NAMES: Readonly<Record<RuleKind, string>> = {
  own: texts.own,
  is: texts.is,
  'never-noise': texts.neverNoise,
  'always-noise': texts.alwaysNoise,
  keep: texts.keep,
}

export const UNCLASSIFIED_NAMES: Readonly<Record<Unclassified, string>> = texts.unclassified
