import { type Static, Type } from 'typebox'

/** Limits of the connection to a CRM. */
export const CRM_LIMITS = {
  /** Companies that are sent: those with the latest visits. */
  companies: 50_000,
  /** Refused companies that are listed. */
  refused: 200,
  /** Runs that are listed. */
  runs: 20,
  tokenMinChars: 20,
  tokenMaxChars: 300,
} as const

/** A token as an HTTP header takes it. */
export const CRM_TOKEN = '^[\\x21-\\x7e]+$'

const time = (description: string) => Type.String({ format: 'rfc3339', description })

/** The connection of a tenant to a CRM, as Redis keeps it. */
export const CrmRecord = Type.Object({
  id: Type.String({ pattern: '^crm_[0-9a-f]{12}$' }),
  kind: Type.Enum(['hubspot']),
  token: Type.String({ maxLength: 2_000, description: 'Encrypted for the id; a backup does not have the key' }),
  segment_id: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only its companies are sent; absent: all with a domain' }),
  ),
  connected_at: time('ISO 8601, UTC'),
  connected_by: Type.String({ maxLength: 500 }),
  stopped: Type.Optional(
    Type.Object(
      { at: time('ISO 8601, UTC'), reason: Type.String({ maxLength: 1_000 }) },
      { description: 'It waits for a person: nothing is sent' },
    ),
  ),
})
export type CrmRecord = Static<typeof CrmRecord>

/** A company that the CRM did not take. */
export const CrmRefusal = Type.Object({
  company_id: Type.String(),
  name: Type.String(),
  domain: Type.String(),
  reason: Type.String(),
})
export type CrmRefusal = Static<typeof CrmRefusal>

/** A run that has ended. Each company of it is in one of the counts. */
export const CrmRun = Type.Object({
  at: time('Its begin'),
  took_ms: Type.Integer(),
  created: Type.Integer(),
  updated: Type.Integer(),
  unchanged: Type.Integer(),
  refused: Type.Integer(),
  /** Companies whose owner or status was read from the CRM. */
  brought: Type.Integer(),
  /** Companies above the limit. */
  left_out: Type.Integer(),
  /** Why it ended early; null: it did not. */
  error: Type.Union([Type.String(), Type.Null()]),
})
export type CrmRun = Static<typeof CrmRun>
