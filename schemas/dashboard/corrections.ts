import { type Static, Type } from 'typebox'
import { COMPANY_LIMITS } from '../companies.ts'
import { CountedColumn, FACT_LIMITS, OWN_KEY, OwnValues } from '../facts.ts'

/** Limits of corrections of companies. */
export const CORRECTION_LIMITS = {
  /** Companies of one change. */
  companies: COMPANY_LIMITS.chosenMax,
  idMaxChars: 500,
  nameMaxChars: 300,
  noteMaxChars: 4_000,
  ownerMaxChars: 200,
  tagMaxChars: 50,
  /** Tags of one company. */
  tags: 20,
  /** Changes in a history. */
  history: 200,
  /** Corrections that a history shows of each change. */
  shown: 20,
  /** Companies that are shown as merged into one. */
  mergedShown: 100,
  /** Merged companies of a tenant. */
  merges: 10_000,
} as const

const CompanyId = Type.String({ minLength: 1, maxLength: CORRECTION_LIMITS.idMaxChars })
const Tags = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: CORRECTION_LIMITS.tagMaxChars }), {
      maxItems: CORRECTION_LIMITS.tags,
      description,
    }),
  )

/** The corrections to make. A field that is left out stays as it is. */
const WANTED = {
  hidden: Type.Optional(Type.Boolean({ description: 'Whether the companies are left out everywhere' })),
  name: Type.Optional(
    Type.String({ maxLength: CORRECTION_LIMITS.nameMaxChars, description: 'Empty: as it was found' }),
  ),
  merged_into: Type.Optional(
    Type.String({
      maxLength: CORRECTION_LIMITS.idMaxChars,
      description: 'The company that their events count for; empty: they are companies of their own',
    }),
  ),
  note: Type.Optional(Type.String({ maxLength: CORRECTION_LIMITS.noteMaxChars, description: 'Empty: none' })),
  owner: Type.Optional(
    Type.String({ maxLength: CORRECTION_LIMITS.ownerMaxChars, description: 'Who looks after them; empty: no one' }),
  ),
  status: Type.Optional(
    Type.String({ maxLength: FACT_LIMITS.statusMaxChars, description: 'Such as `customer`; empty: none' }),
  ),
  own: Type.Optional(
    Type.Record(Type.String({ pattern: OWN_KEY }), Type.String({ maxLength: FACT_LIMITS.textMaxChars }), {
      maxProperties: FACT_LIMITS.columns,
      description: 'Values of own columns by key; empty: none',
    }),
  ),
  add_tags: Tags('Tags to add'),
  remove_tags: Tags('Tags to remove'),
}
export const CorrectionWanted = Type.Object(WANTED, { additionalProperties: false })
export type CorrectionWanted = Static<typeof CorrectionWanted>

/** `POST /api/tenants/:tenant/corrections` corrects companies, as one change. */
export const CorrectionsBody = Type.Object(
  {
    companies: Type.Array(CompanyId, { minItems: 1, maxItems: CORRECTION_LIMITS.companies }),
    change_id: Type.Optional(
      Type.String({ pattern: '^[0-9a-f-]{36}$', description: 'A UUID: a repeat with the same one changes nothing' }),
    ),
    ...WANTED,
  },
  { additionalProperties: false },
)
export type CorrectionsBody = Static<typeof CorrectionsBody>

/** `POST /api/tenants/:tenant/corrections/undo` undoes a change. */
export const UndoBody = Type.Object({ change_id: Type.String({ maxLength: 100 }) }, { additionalProperties: false })
export type UndoBody = Static<typeof UndoBody>

/** The answer to both. */
export const CorrectedAnswer = Type.Object({
  change_id: Type.String(),
  /** ISO 8601, UTC. */
  at: Type.String(),
  by: Type.String(),
  /** Companies that changed, or 1 for intent pages; 0 when nothing did: there is no change to undo. */
  companies: Type.Integer(),
})
export type CorrectedAnswer = Static<typeof CorrectedAnswer>

/** `GET /api/tenants/:tenant/own-columns` */
export const OwnColumnsAnswer = Type.Object({ columns: Type.Array(CountedColumn) })
export type OwnColumnsAnswer = Static<typeof OwnColumnsAnswer>

/** `POST /api/tenants/:tenant/own-columns/remove` removes a column with its values, as a change that can be undone. */
export const RemoveColumnBody = Type.Object(
  { key: Type.String({ maxLength: FACT_LIMITS.columnKeyMaxChars }) },
  { additionalProperties: false },
)
export type RemoveColumnBody = Static<typeof RemoveColumnBody>

/** The corrections of a company that are in effect. */
export const CompanyCorrection = Type.Object({
  company_id: Type.String(),
  hidden: Type.Boolean(),
  /** Empty: none. */
  name: Type.String(),
  /** The company that a person chose; empty: not merged. */
  merged_into: Type.String(),
  /** The company at the end of the chain of merges. */
  counts_for: Type.String(),
  /** Companies that count for it, at most 100, in the order of ids. */
  merged_from: Type.Array(Type.String(), { maxItems: CORRECTION_LIMITS.mergedShown }),
  note: Type.String(),
  tags: Type.Array(Type.String()),
  owner: Type.String(),
  status: Type.String(),
  own: OwnValues,
})
export type CompanyCorrection = Static<typeof CompanyCorrection>

/** `GET /api/tenants/:tenant/corrections/state`: companies with a correction in effect, in the order of ids. */
export const CorrectionsStateQuery = Type.Object(
  { company: Type.Optional(Type.Array(CompanyId, { maxItems: COMPANY_LIMITS.pageRowsMax })) },
  { additionalProperties: false },
)
export const CorrectionsStateAnswer = Type.Object({ companies: Type.Array(CompanyCorrection) })
export type CorrectionsStateAnswer = Static<typeof CorrectionsStateAnswer>

/** `GET /api/tenants/:tenant/corrections`: the changes, newest first. */
export const CorrectionsQuery = Type.Object({ company: Type.Optional(CompanyId) }, { additionalProperties: false })
export type CorrectionsQuery = Static<typeof CorrectionsQuery>

export const CorrectionChange = Type.Object({
  ...CorrectedAnswer.properties,
  /** The change that this one undoes, or null. */
  undoes: Type.Union([Type.String(), Type.Null()]),
  /** The change that undid this one, or null. */
  undone_by: Type.Union([Type.String(), Type.Null()]),
  /** The first of its corrections. Fields of own columns are `own:KEY`. Tags and intent pages are one a line; `hidden` is `yes` or empty. Intent pages have no company. */
  corrections: Type.Array(
    Type.Object({ company_id: Type.String(), field: Type.String(), before: Type.String(), value: Type.String() }),
  ),
})
export type CorrectionChange = Static<typeof CorrectionChange>

/** A rule, or newer data, hid stored events of a company, showed them again, or removed hidden ones for good. */
export const HidingChange = Type.Object({
  company_id: Type.String(),
  /** ISO 8601, UTC. */
  at: Type.String(),
  by: Type.String(),
  action: Type.Enum(['hidden', 'shown', 'deleted']),
  /** Rule of the tenant; empty: the class of the address. */
  rule: Type.String(),
  events: Type.Integer(),
})
export type HidingChange = Static<typeof HidingChange>

/** `hidings`: the effect of rules, newest first. */
export const CorrectionsAnswer = Type.Object({
  changes: Type.Array(CorrectionChange),
  hidings: Type.Array(HidingChange),
})
export type CorrectionsAnswer = Static<typeof CorrectionsAnswer>
