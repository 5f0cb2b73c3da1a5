import { type Static, Type } from 'typebox'
import { CorrectionChange } from './corrections.ts'

/** Pages that show an intent to buy (src/companies/README.md, Heat). */
export const INTENT_PAGES = {
  /** Pages of a tenant. */
  max: 50,
  maxChars: 100,
  /** days whose pages are counted for each of them. */
  countedDays: 90,
  /** Those of a tenant that chose none; the view `company_heat` has the same. */
  defaults: [
    ...['pricing', 'prices', 'plans', 'demo', 'contact', 'signup', 'sign-up', 'register', 'trial', 'book', 'booking'],
    ...['buy', 'checkout', 'quote'],
  ],
} as const

const Pages = (description: string) =>
  Type.Optional(Type.Array(Type.String(), { maxItems: INTENT_PAGES.max, description }))

/** A change of a tenant's intent pages. The result may be the default ones. */
export const IntentPagesWanted = Type.Object(
  {
    pages: Pages('All of them; an empty list: the default ones. Default: those that it has'),
    add: Pages('Pages to add'),
    remove: Pages('Pages to remove'),
  },
  { additionalProperties: false },
)
export type IntentPagesWanted = Static<typeof IntentPagesWanted>

/** The intent pages of a tenant. */
export const IntentPages = Type.Object({
  /** Words of a path, for example `pricing` or `/book-a-demo`. */
  pages: Type.Array(Type.String()),
  is_default: Type.Boolean(),
})
export type IntentPages = Static<typeof IntentPages>

/**
 * `GET /api/tenants/:tenant/intent-pages`. `POST` with `IntentPagesWanted` changes them and answers `CorrectedAnswer`, and
 * `POST /api/tenants/:tenant/corrections/undo` undoes that.
 */
export const IntentPagesAnswer = Type.Object({
  ...IntentPages.properties,
  /** The newest first. */
  changes: Type.Array(CorrectionChange),
})
export type IntentPagesAnswer = Static<typeof IntentPagesAnswer>

/** The matches of an intent page. */
export const IntentPageMatch = Type.Object({
  page: Type.String(),
  /** Distinct pages that companies read in the last `INTENT_PAGES.countedDays` days. */
  read_pages: Type.Integer(),
  /** The path of the one that was read most; empty when there is none. */
  example: Type.String(),
})
export type IntentPageMatch = Static<typeof IntentPageMatch>

/** `GET /api/tenants/:tenant/intent-pages/matches`, in the order of the intent pages. */
export const IntentPageMatchesAnswer = Type.Object({ matches: Type.Array(IntentPageMatch) })
export type IntentPageMatchesAnswer = Static<typeof IntentPageMatchesAnswer>
