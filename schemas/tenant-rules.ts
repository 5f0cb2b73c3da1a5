import type { BotReason } from './bots.ts'
import { CLASSIFICATIONS, type Classification, NOISE } from './classification.ts'

/** Kinds of rules (schemas/README.md, Rules of a tenant). */
export const RULE_KINDS = ['own', 'is', 'never-noise', 'always-noise', 'keep'] as const
export type RuleKind = (typeof RULE_KINDS)[number]

/** Rules that make events noise: they hide stored ones. */
const HIDING_KINDS: readonly RuleKind[] = ['own', 'always-noise']

/** The kind of a rule. @param rule kind and subject */
export function kindOf(rule: string): string {
  return rule.slice(0, rule.indexOf(' '))
}

/** Whether a rule makes events noise. @param rule kind and subject */
export function isHiding(rule: string): boolean {
  return HIDING_KINDS.some((kind) => kind === kindOf(rule))
}

/** Classes for `keep`: those that are filtered by default. */
export const KEPT_CLASSES: readonly Classification[] = CLASSIFICATIONS.filter((name) => NOISE.has(name))

/** Most rules of a tenant. */
export const RULES_MAX = 1_000

/** How to treat events of organisations of unknown class. Default: `account`. */
export const UNCLASSIFIED = ['account', 'event', 'filtered'] as const
export type Unclassified = (typeof UNCLASSIFIED)[number]

/** A tenant's rules about its traffic. */
export interface TenantRules {
  /** Kind and subject in canonical form: `own 203.0.113.0/24`. */
  readonly rules?: readonly string[]
  readonly unclassified?: Unclassified
}

/** Values of `reason` in `outcomes` for events that a tenant's rules filter. */
export const RULE_REASONS = ['own', 'always_noise', 'unclassified'] as const
export type RuleReason = (typeof RULE_REASONS)[number]

/** Values of `reason` in `outcomes` for filtered events; other events are filtered by their class alone. */
export type FilterReason = RuleReason | BotReason
