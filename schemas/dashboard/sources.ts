import { type Static, Type } from 'typebox'
import { SOURCE_ADDRESSES, SourceFacts } from '../api-key.ts'
import { FILTERED, type FilteredBy } from '../filtered.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

/** Places where a website takes the script tag. */
export const SETUP_SITES = ['html', 'tag-manager', 'wordpress', 'shopify', 'next.js'] as const
export type SetupSite = (typeof SETUP_SITES)[number]

/** A problem of a source, and its remedy. */
export const SourceFinding = Type.Object({
  kind: Type.String({
    description:
      'silent, no_address, invalid_address, proxy, filtered, one_address, one_network, clock, rejected, retries',
  }),
  text: Type.String({ description: 'What was seen, a sentence' }),
  mend: Type.String({ description: 'What mends it, a sentence' }),
  code: nullable(Type.String({ description: 'A line of code that belongs to mend' })),
})
export type SourceFinding = Static<typeof SourceFinding>

/** Events of a source that were received on a UTC day. */
export const SourceDay = Type.Object({
  received: Type.Integer({ description: 'All of them' }),
  stored: Type.Integer(),
  filtered: Type.Integer(),
  without_address: Type.Integer(),
  invalid_address: Type.Integer(),
  rejected: Type.Integer(),
  repeats: Type.Integer(),
})
export type SourceDay = Static<typeof SourceDay>

/** A source and its health, as the page and `ipid source list --json` show it. */
export const ListedSource = Type.Object({
  source_id: Type.String(),
  kind: Type.String(),
  title: Type.String({ description: 'Name of the kind' }),
  name: nullable(Type.String()),
  address: Type.Enum([...SOURCE_ADDRESSES]),
  has_browser_key: Type.Boolean(),
  has_server_key: Type.Boolean({ description: 'Secret, and shown only once' }),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  last_used: nullable(Type.String({ description: 'Last request with its key' })),
  revoked_at: nullable(Type.String()),
  /** `unknown`: ClickHouse cannot be asked. */
  state: Type.Enum(['waiting', 'good', 'attention', 'revoked', 'unknown']),
  findings: Type.Array(SourceFinding),
  today: nullable(SourceDay),
  last_event: nullable(Type.String({ description: 'Receipt of the last stored event of the last 14 days' })),
  filtered_reasons: Type.Array(
    Type.Object({
      reason: Type.Enum(Object.keys(FILTERED) as FilteredBy[]),
      label: Type.String({ description: 'For people' }),
      events: Type.Integer(),
    }),
    { description: 'Today, the most frequent first' },
  ),
  filtered_all: nullable(
    Type.String({ description: 'Set when all events of today were filtered: received, and filtered because …' }),
  ),
  rejected_reasons: Type.Array(Type.Object({ reason: Type.String(), events: Type.Integer() }), {
    description: 'Since yesterday',
  }),
})
export type ListedSource = Static<typeof ListedSource>

/** A kind of source that a person can make. */
export const SourceKind = Type.Object({
  kind: Type.String(),
  title: Type.String(),
  group: Type.Enum(['website', 'libraries', 'shippers', 'pulls']),
  options: Type.String({ description: 'Options that the command needs to make one' }),
  presets: Type.Array(Type.Object({ name: Type.String(), about: Type.String() }), {
    description: 'Senders whose fields it knows',
  }),
  fields: Type.Array(Type.String(), { description: 'Fields of events that a source may map' }),
})
export type SourceKind = Static<typeof SourceKind>

/** Sources of the answer; older ones are left out. */
export const SOURCES_MAX = 500

/** `GET /api/tenants/:tenant/sources`: newest first, revoked ones too. */
export const SourcesAnswer = Type.Object({
  /** URL of the API as senders reach it: as a person of the tenant said, or API_URL; null: unknown. */
  api_url: nullable(Type.String()),
  sources: Type.Array(ListedSource),
  total: Type.Integer({ description: 'Number of sources of the tenant' }),
  kinds: Type.Array(SourceKind),
  /** State of the sources that ipid pulls. */
  fetches: Type.Array(
    Type.Object({
      source_id: Type.String(),
      status: Type.String({ description: 'new, running, waiting, failing, paused' }),
      text: Type.String(),
      place: Type.String(),
    }),
  ),
  /** Why there is no health. */
  problem: nullable(Type.String()),
})
export type SourcesAnswer = Static<typeof SourcesAnswer>

/** `POST /api/tenants/:tenant/sources` */
export const CreateSourceBody = Type.Object(
  {
    kind: Type.String({ maxLength: 40 }),
    name: Type.Optional(SourceFacts.properties.name),
    base: Type.String({ maxLength: 300, description: 'URL of the API as senders reach it: https://host:port' }),
    preset: Type.Optional(SourceFacts.properties.preset),
    map: Type.Optional(
      Type.Array(Type.String({ maxLength: 600 }), {
        maxItems: 30,
        description: 'Where its fields are: ip=client.address',
      }),
    ),
  },
  { additionalProperties: false },
)
export type CreateSourceBody = Static<typeof CreateSourceBody>

/** The blocks that people paste for a source. */
export const SourceSetup = Type.Object({
  base: Type.String({ description: 'URL of the API in it' }),
  browser_key: nullable(Type.String({ description: 'It is in public pages' })),
  warning: nullable(Type.String({ description: 'Why senders elsewhere cannot reach that URL, and what to do' })),
  note: nullable(Type.String({ description: 'Which key is not shown, and what to do about it' })),
  blocks: Type.Array(
    Type.Object({
      title: Type.String({ description: 'Where it goes' }),
      about: nullable(Type.String()),
      code: Type.String({ description: 'Exactly what is pasted' }),
      key: nullable(Type.Enum(['server', 'browser'])),
      is_sample: Type.Boolean({ description: 'It has to be changed before it runs' }),
      site: nullable(
        Type.Enum([...SETUP_SITES], { description: 'Where a website is made, if this is all that it needs' }),
      ),
    }),
  ),
})
export type SourceSetup = Static<typeof SourceSetup>

/** The server key is shown only here. */
export const CreatedSourceAnswer = Type.Object({
  source_id: Type.String(),
  kind: Type.String(),
  key: Type.String({ description: 'Server key; of a source for browsers only, its browser key' }),
  browser_key: nullable(Type.String()),
  url: Type.String(),
  setup: SourceSetup,
  created_at: Type.String(),
})
export type CreatedSourceAnswer = Static<typeof CreatedSourceAnswer>

/** `POST /api/tenants/:tenant/sources/set` */
export const SetSourceBody = Type.Object(
  {
    source_id: Type.String({ maxLength: 40 }),
    name: Type.Optional(SourceFacts.properties.name),
    address: Type.Optional(Type.Enum([...SOURCE_ADDRESSES])),
    base: Type.Optional(SourceFacts.properties.base),
  },
  { additionalProperties: false },
)
export type SetSourceBody = Static<typeof SetSourceBody>

/** `GET /api/tenants/:tenant/sources/setup`: a `SourceSetup`, without the blocks that hold the server key */
export const SourceSetupQuery = Type.Object({ source: Type.String({ maxLength: 40 }) }, { additionalProperties: false })
export type SourceSetupQuery = Static<typeof SourceSetupQuery>

/** `POST /api/tenants/:tenant/sources/revoke` */
export const RevokeSourceBody = Type.Object(
  { source_id: Type.String({ maxLength: 40 }) },
  { additionalProperties: false },
)
export type RevokeSourceBody = Static<typeof RevokeSourceBody>
