import { type Static, Type } from 'typebox'
import { LiveEvent } from '../live-event.ts'
import { SourceSetup } from './sources.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

/** `GET /api/tenants/:tenant/first-steps`: what a new workspace has to do, and what it has done. */
export const FirstSteps = Type.Object({
  is_closed: Type.Boolean({ description: 'A person closed the list' }),
  api_url: nullable(Type.String({ description: 'URL of the API as senders reach it; null: not set' })),
  /** The newest active script tag; null: there is none. */
  website: nullable(
    Type.Object({
      setup: SourceSetup,
      has_events: Type.Boolean({ description: 'Events of it were received' }),
      filtered_all: nullable(Type.String({ description: 'See `ListedSource`' })),
    }),
  ),
  has_events: Type.Boolean({ description: 'Events of any source are stored' }),
  seen: nullable(LiveEvent),
  own_address: nullable(
    Type.String({
      description: 'Public address of the caller, as their site or this page sees it: a subject of the rule own',
    }),
  ),
  own_rules: Type.Array(Type.String(), { description: 'Networks that the rule own leaves out' }),
  alerts: Type.Integer(),
  people: Type.Integer({ description: 'People and open invitations' }),
})
export type FirstSteps = Static<typeof FirstSteps>

/** `POST /api/tenants/:tenant/first-steps/connect`: stores the address, and makes a script tag if there is none. */
export const ConnectBody = Type.Object(
  { base: Type.String({ maxLength: 300, description: 'URL of the API as browsers reach it' }) },
  { additionalProperties: false },
)
export type ConnectBody = Static<typeof ConnectBody>

/** `POST /api/tenants/:tenant/first-steps/close` */
export const CloseStepsBody = Type.Object({ is_closed: Type.Boolean() }, { additionalProperties: false })
export type CloseStepsBody = Static<typeof CloseStepsBody>

/** `POST /api/tenants/:tenant/sample`: shows the made-up visits to the people of a workspace, or takes them away. */
export const SampleBody = Type.Object({ is_shown: Type.Boolean() }, { additionalProperties: false })
export type SampleBody = Static<typeof SampleBody>

/** The tenant that holds them. */
export const SampleAnswer = Type.Object({ tenant: Type.String() })
export type SampleAnswer = Static<typeof SampleAnswer>
