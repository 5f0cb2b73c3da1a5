import { type Static, Type } from 'typebox'
import { CorrectionChange } from './corrections.ts'

/** The points that all parts of heat share. */
export const HEAT_POINTS = 100
/** The parts of heat, in the order of their text. */
export const HEAT_PARTS = ['recency', 'frequency', 'depth', 'intent'] as const
/** Points of a tenant that chose none; the view `company_heat` has the same. */
export const DEFAULT_HEAT_WEIGHTS = { recency: 30, frequency: 30, depth: 15, intent: 25 } as const
/** Companies in each list of a preview. */
export const HEAT_PREVIEW_ROWS = 10

const Points = (description: string) => Type.Integer({ minimum: 0, maximum: HEAT_POINTS, description })

/** Most points of each part of heat (src/companies/README.md, Heat). They add up to `HEAT_POINTS`. */
export const HeatWeights = Type.Object(
  {
    recency: Points('For an event today'),
    frequency: Points('For events on 15 days or more'),
    depth: Points('For 31 events a day or more'),
    intent: Points('For intent pages on 7 days or more'),
  },
  { additionalProperties: false },
)
export type HeatWeights = Readonly<Static<typeof HeatWeights>>

/**
 * `GET /api/tenants/:tenant/heat-weights`. `POST` with `HeatWeights` changes them and answers `CorrectedAnswer`; admins only, as undoing it
 * is.
 */
export const HeatWeightsAnswer = Type.Object({
  weights: HeatWeights,
  /** The newest first. */
  changes: Type.Array(CorrectionChange),
})
export type HeatWeightsAnswer = Static<typeof HeatWeightsAnswer>

const Ranked = Type.Object({ company_id: Type.String(), name: Type.String(), heat: Type.Integer() })

/** `POST /api/tenants/:tenant/heat-weights/preview` with `HeatWeights`: the hottest companies. It changes nothing. */
export const HeatPreview = Type.Object({
  /** With the weights that hold. */
  now: Type.Array(Ranked),
  /** With those of the request. */
  wanted: Type.Array(Ranked),
})
export type HeatPreview = Static<typeof HeatPreview>
