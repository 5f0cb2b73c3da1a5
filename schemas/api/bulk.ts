import { type Static, Type } from 'typebox'
import { BatchStatus, LABEL_MAX_CHARS } from './batch.ts'
import { LookupChoices, LookupQuota, LookupResult } from './lookup.ts'

/**
 * Limits of one bulk lookup. `ipMaxChars`: what a result repeats of a text that is no address; addresses are shorter. `keptBytesMax`: of the
 * ended jobs of a tenant, with their compressed results.
 */
export const BULK_LIMITS = { ipsMax: 512, bodyMaxBytes: 1_048_576, ipMaxChars: 64, keptBytesMax: 134_217_728 } as const

/** The way a bulk lookup is answered. */
export const BulkMode = Type.Enum(['sync', 'async'], { description: 'sync when it is left out' })
export type BulkMode = Static<typeof BulkMode>

/** `POST /v1/bulk`. The number of `ips` is checked before the schema, because its errors are 400 and 413. */
export const BulkRequest = Type.Object(
  {
    ips: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: BULK_LIMITS.ipsMax,
      description: 'IPv4 or IPv6 addresses. Another text gets the status `invalid_ip`',
    }),
    mode: Type.Optional(BulkMode),
    label: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LABEL_MAX_CHARS,
        description: `For mode=async: a name for the job, 1 to ${LABEL_MAX_CHARS} printable characters`,
      }),
    ),
    ...LookupChoices.properties,
  },
  { title: 'BulkRequest', additionalProperties: false },
)
export type BulkRequest = Static<typeof BulkRequest>

/** Result of an input that is not an address. */
const InvalidAddress = Type.Object(
  {
    ip: Type.String({ description: `The text as it was sent, its first ${BULK_LIMITS.ipMaxChars} characters` }),
    status: Type.Literal('invalid_ip'),
  },
  { title: 'InvalidAddress' },
)

/** One line of an answer, one entry of `results`. */
export const BulkResult = Type.Union([LookupResult, InvalidAddress], { title: 'BulkResult' })
export type BulkResult = Static<typeof BulkResult>

/** Answer of `POST /v1/bulk` as one JSON text. */
export const BulkAnswer = Type.Object(
  { results: Type.Array(BulkResult, { description: 'In the order of the addresses' }), quota: LookupQuota },
  { title: 'BulkAnswer' },
)
export type BulkAnswer = Static<typeof BulkAnswer>

/** Answer of `POST /v1/bulk?mode=async`. */
export const BulkAccepted = Type.Object(
  { job_id: Type.String(), status: Type.Literal('queued') },
  { title: 'BulkAccepted' },
)
export type BulkAccepted = Static<typeof BulkAccepted>

/** Answer of `GET /v1/bulk/{job_id}`. */
export const BulkJob = Type.Object(
  {
    job_id: Type.String(),
    status: BatchStatus,
    progress_current: Type.Integer({ description: 'Finished addresses' }),
    progress_total: Type.Integer(),
    label: Type.Optional(Type.String({ description: 'An extension: the `label` of its request' })),
    results: Type.Union([
      Type.Array(BulkResult, { description: 'In the order of the addresses; null until the job is completed' }),
      Type.Null(),
    ]),
  },
  { title: 'BulkJob' },
)
export type BulkJob = Static<typeof BulkJob>
