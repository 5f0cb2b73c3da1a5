import { type Static, Type } from 'typebox'
import { RULE_KINDS, UNCLASSIFIED } from '../tenant-rules.ts'
import { Past, Reenrichment } from './reenrichments.ts'

/** Rules that one call may add. */
export const RULES_ADDED_MAX = 20
/** Companies that a trial names. */
export const RULES_TRIAL_COMPANIES = 10

/** `GET /api/tenants/:tenant/rules`, and the answer to a change of them. */
export const RulesAnswer = Type.Object({
  /** Kind and subject in canonical form: `own 203.0.113.0/24`. */
  rules: Type.Array(Type.String()),
  unclassified: Type.Enum([...UNCLASSIFIED]),
  /** Hidden events, by the rule that hides them; null while ClickHouse does not answer. */
  hidden: Type.Union([Type.Record(Type.String(), Type.Integer()), Type.Null()]),
  /** The job that applies the change to stored events; null: none was requested. */
  job: Type.Union([Reenrichment, Type.Null()]),
})
export type RulesAnswer = Static<typeof RulesAnswer>

const AddedRule = Type.Object(
  {
    kind: Type.Enum([...RULE_KINDS]),
    subject: Type.String({ maxLength: 500, description: 'In any form' }),
  },
  { additionalProperties: false },
)

/**
 * `POST /api/tenants/:tenant/rules` makes a change, and applies it to stored events if `past` is set. Events that a removed rule hides are shown
 * again even without it. `POST …/rules/try` tries it on the
 * stored events of `past`, or on those received since yesterday. An added rule may exist already: then it is tried against none.
 */
export const RulesBody = Type.Object(
  {
    add: Type.Optional(Type.Union([AddedRule, Type.Array(AddedRule, { minItems: 1, maxItems: RULES_ADDED_MAX })])),
    remove: Type.Optional(Type.String({ maxLength: 1_000, description: 'A rule of the answer' })),
    unclassified: Type.Optional(Type.Enum([...UNCLASSIFIED])),
    past: Type.Optional(Past),
  },
  { additionalProperties: false, minProperties: 1 },
)
export type RulesBody = Static<typeof RulesBody>

/** `POST /api/tenants/:tenant/rules/delete-hidden` removes the events that a rule hides, for good. The answer is the job. */
export const DeleteHiddenBody = Type.Object(
  { rule: Type.String({ maxLength: 1_000, description: 'A rule of the tenant' }) },
  { additionalProperties: false },
)
export type DeleteHiddenBody = Static<typeof DeleteHiddenBody>

const Counts = Type.Record(Type.String(), Type.Integer())

/** The effect that rules would have had on the events received since a day. */
export const RulesTrialAnswer = Type.Object({
  /** A UTC day, `YYYY-MM-DD`; null: all stored events. */
  since: Type.Union([Type.String(), Type.Null()]),
  /** Stored events that were tried. Those that the rules cannot apply to are left out. */
  stored: Type.Integer(),
  /** Stored events that would have been filtered, by rule. */
  newly_filtered: Counts,
  /** Stored events that would have belonged to another organisation, by the rule `is`. */
  newly_held: Counts,
  /** Hidden events that would be shown again, whenever they were received. */
  shown: Type.Integer(),
  filtered: Type.Integer(),
  /** Filtered events that would have been kept, by rule. */
  newly_kept: Counts,
  /** Filtered events that cannot be tried. */
  unknown: Type.Integer(),
  without_address: Type.Integer(),
  /** The losses of companies. Of the 1,000 with the most changed events, `gone_companies` would have no stored event left. */
  changed: Type.Object({
    companies: Type.Integer(),
    gone_companies: Type.Integer(),
    events: Type.Integer(),
    visits: Type.Integer(),
  }),
  /** Those with the most changed events. */
  companies: Type.Array(
    Type.Object({
      company_id: Type.String(),
      name: Type.String(),
      events: Type.Integer(),
      visits: Type.Integer(),
      /** Whether no stored event of the company would be left. */
      is_gone: Type.Boolean(),
    }),
  ),
})
export type RulesTrialAnswer = Static<typeof RulesTrialAnswer>
