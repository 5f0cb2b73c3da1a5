import type { RuleKind, Unclassified } from '../../../../../schemas/tenant-rules.ts'

/** Labels of rule kinds. */
export const RULE_KIND_NAMES: Readonly<Record<RuleKind, string>> = {
  own: 'Our own network: never counted',
  is: 'Network of an organisation',
  'never-noise': 'Never noise',
  'always-noise': 'Always noise',
  keep: 'Keep a type',
}

export const UNCLASSIFIED_NAMES: Readonly<Record<Unclassified, string>> = {
  account: 'are accounts',
  event: 'are kept as events without an account',
  filtered: 'are filtered',
}
