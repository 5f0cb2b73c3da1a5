import { type Static, Type } from 'typebox'
import { CRM_LIMITS, CRM_TOKEN, CrmRefusal, CrmRun } from '../crm.ts'

const Text = Type.Union([Type.String(), Type.Null()])

/** `GET /api/tenants/:tenant/crm`; `connection` null: there is none. The token is never shown. */
export const CrmAnswer = Type.Object({
  connection: Type.Union([
    Type.Object({
      kind: Type.Enum(['hubspot']),
      /** Null: all companies. Without a name, the segment is gone. */
      segment: Type.Union([Type.Object({ segment_id: Type.String(), name: Text }), Type.Null()]),
      connected_at: Type.String(),
      connected_by: Type.String(),
      /** It waits for a person; null: it runs. */
      stopped: Type.Union([Type.Object({ at: Type.String(), reason: Type.String() }), Type.Null()]),
      /** Begin of the run in progress; null: none. */
      running_since: Text,
      /** Null: it is stopped, or due now. */
      next_at: Text,
      /** Newest first. */
      runs: Type.Array(CrmRun),
      /** Companies of the last run that were refused, the first ones. */
      refused: Type.Array(CrmRefusal),
    }),
    Type.Null(),
  ]),
})
export type CrmAnswer = Static<typeof CrmAnswer>

/** `POST /api/tenants/:tenant/crm/connect` answers as the GET. It replaces a connection. */
export const ConnectCrmBody = Type.Object(
  {
    token: Type.String({
      minLength: CRM_LIMITS.tokenMinChars,
      maxLength: CRM_LIMITS.tokenMaxChars,
      pattern: CRM_TOKEN,
      description: 'Access token of a private app of HubSpot',
    }),
    segment_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  },
  { additionalProperties: false },
)
export type ConnectCrmBody = Static<typeof ConnectCrmBody>
