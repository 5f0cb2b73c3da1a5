import { CLASSIFICATIONS, type Classification, NOISE } from './classification.ts'

/** What a tenant can say of addresses (schemas/README.md, Rules of a tenant). */
export const RULE_KINDS = ['own', 'never-noise', 'always-noise', 'keep'] as const
export type RuleKind = (typeof RULE_KINDS)[number]

/** Classes that `keep` can name: those that are filtered otherwise. */
export const KEPT_CLASSES: readonly Classification[] = CLASSIFICATIONS.filter((name) => NOISE.has(name))

/** Rules that one tenant may have. */
export const RULES_MAX = 1_000

/** What becomes of addresses of an organisation whose class nothing speaks for: `account` is the default. */
export const UNCLASSIFIED = ['account', 'event', 'filtered'] as const
export type Unclassified = (typeof UNCLASSIFIED)[number]

/** What a tenant says of its traffic; both are as good as left out when they are the default. */
export interface TenantRules {
  /** Kind and subject, in one spelling: `own 203.0.113.0/24`. */
  readonly rules?: readonly string[]
  readonly unclassified?: Unclassified
}

/** `reason` in `outcomes` of events that a tenant's rules filter. */
export const FILTER_REASONS = ['own', 'always_noise', 'unclassified'] as const
export type FilterReason = (typeof FILTER_REASONS)[number]
