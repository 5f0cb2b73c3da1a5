import { type Static, Type } from 'typebox'

/** What people corrected. `known`: a rule whose answer the data give by now. */
export const CORRECTION_KIND_LABELS = {
  wrong: 'Another company',
  missing: 'No company',
  domain: 'Another domain',
  shown: 'Not a company',
  hidden: 'Hidden',
  merged: 'Merged',
  renamed: 'Renamed',
  known: 'Right by now',
} as const
export type CorrectionKind = keyof typeof CORRECTION_KIND_LABELS
export const CORRECTION_KINDS = Object.keys(CORRECTION_KIND_LABELS) as readonly CorrectionKind[]

/** A correction in effect, and the data set that had given the corrected answer. */
export const MadeCorrection = Type.Object({
  /** A data set; in brackets, why it is not known. */
  data_set: Type.String(),
  kind: Type.Enum(CORRECTION_KINDS as CorrectionKind[]),
  /** The company that was corrected; empty: the data name none, or it is not known. */
  company_id: Type.String(),
  /** The rule that corrects it; empty: a correction of the company. */
  rule: Type.String(),
})
export type MadeCorrection = Static<typeof MadeCorrection>

const Kinds = Object.fromEntries(CORRECTION_KINDS.map((kind) => [kind, Type.Integer()])) as Record<
  CorrectionKind,
  ReturnType<typeof Type.Integer>
>

/** The corrections of a tenant in effect, by the data set that had given the corrected answer. */
export const Corrections = Type.Object({
  /** First UTC day of the visits of `companies`, `YYYY-MM-DD`. */
  since: Type.String(),
  /** With a correction, the most corrections first. */
  data_sets: Type.Array(
    Type.Object({
      name: Type.String(),
      /** Companies that it names, of `companies_read`. */
      companies: Type.Integer(),
      corrections: Type.Integer(),
      kinds: Type.Object(Kinds),
    }),
  ),
  corrections: Type.Array(MadeCorrection),
  /** Companies with an event since then, and of how many of them the data set was looked up. */
  companies: Type.Integer(),
  companies_read: Type.Integer(),
  /** Corrections of companies that are not counted, because only the newest are read. */
  left_out: Type.Integer(),
})
export type Corrections = Static<typeof Corrections>
