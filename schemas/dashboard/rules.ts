import { type Static, Type } from 'typebox'
import { RULE_KINDS, UNCLASSIFIED } from '../tenant-rules.ts'

/** `GET /api/tenants/:tenant/rules`, and the answer to a change of them. */
export const RulesAnswer = Type.Object({
  /** Kind and subject in canonical form: `own 203.0.113.0/24`. */
  rules: Type.Array(Type.String()),
  unclassified: Type.Enum([...UNCLASSIFIED]),
})
export type RulesAnswer = Static<typeof RulesAnswer>

/** `POST /api/tenants/:tenant/rules` makes a change. `POST …/rules/try` tries it on recent events. */
export const RulesBody = Type.Object(
  {
    add: Type.Optional(
      Type.Object(
        {
          kind: Type.Enum([...RULE_KINDS]),
          subject: Type.String({ maxLength: 500, description: 'In any form' }),
        },
        { additionalProperties: false },
      ),
    ),
    remove: Type.Optional(Type.String({ maxLength: 1_000, description: 'A rule of the answer' })),
    unclassified: Type.Optional(Type.Enum([...UNCLASSIFIED])),
  },
  { additionalProperties: false, minProperties: 1 },
)
export type RulesBody = Static<typeof RulesBody>

const Counts = Type.Record(Type.String(), Type.Integer())

/** The effect that rules would have had on the events received since a day. */
export const RulesTrialAnswer = Type.Object({
  /** A UTC day, `YYYY-MM-DD`. */
  since: Type.String(),
  stored: Type.Integer(),
  /** Stored events that would have been filtered, by rule. */
  newly_filtered: Counts,
  /** Stored events that would have belonged to another organisation, by the rule `is`. */
  newly_held: Counts,
  filtered: Type.Integer(),
  /** Filtered events that would have been kept, by rule. */
  newly_kept: Counts,
  /** Filtered events that cannot be tried. */
  unknown: Type.Integer(),
  without_address: Type.Integer(),
})
export type RulesTrialAnswer = Static<typeof RulesTrialAnswer>
