import { type Static, Type } from 'typebox'
import { CorrectionChange } from './corrections.ts'

/** Limits of what a tenant says about good companies. */
export const FIT_LIMITS = {
  lines: 20,
  /** Of the condition of a line. */
  whereMaxChars: 500,
  /** Terms of all lines, counting each value. */
  terms: 100,
} as const

/** A sign of pages and commands: a condition, and whether it speaks for a company or against it. */
export const FitLine = Type.Object(
  {
    is: Type.Union([Type.Literal('good'), Type.Literal('poor')]),
    where: Type.String({
      minLength: 1,
      maxLength: FIT_LIMITS.whereMaxChars,
      description:
        'A filter as text about what a company is: `industry=Software`, `country=DE,country=AT` or `own.employees>=50`',
    }),
  },
  { additionalProperties: false },
)
export type FitLine = Static<typeof FitLine>

/** What a tenant says about good companies. Without lines no company has a fit. */
export const FitProfile = Type.Object(
  { lines: Type.Array(FitLine, { maxItems: FIT_LIMITS.lines }) },
  { additionalProperties: false },
)
export type FitProfile = Static<typeof FitProfile>

/**
 * `GET /api/tenants/:tenant/fit`. `POST` with `FitProfile` changes it and answers `CorrectedAnswer`; admins only, as undoing it is.
 */
export const FitAnswer = Type.Object({
  /** `label`: in words, as companies show it. */
  lines: Type.Array(Type.Object({ ...FitLine.properties, label: Type.String() })),
  /** The newest first. */
  changes: Type.Array(CorrectionChange),
})
export type FitAnswer = Static<typeof FitAnswer>

/** `POST /api/tenants/:tenant/fit/preview` with `FitProfile`: the fit of all companies. It changes nothing. */
export const FitPreview = Type.Object({
  good: Type.Integer(),
  ok: Type.Integer(),
  poor: Type.Integer(),
  /** Each line in words, with the companies that meet it. */
  lines: Type.Array(Type.Object({ ...FitLine.properties, label: Type.String(), companies: Type.Integer() })),
})
export type FitPreview = Static<typeof FitPreview>
