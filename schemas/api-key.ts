import { type Static, Type } from 'typebox'
import { Maker } from './maker.ts'

/** The place of the addresses in a source's events; see `SourceFacts`. */
export const SOURCE_ADDRESSES = ['auto', 'payload', 'connection'] as const

/** The keys of a source; see `src/pipeline/sources/README.md`, Keys. */
export type SourceKeySorts = 'server' | 'browser' | 'both'

/** How ipid fetches a source. */
const PullFacts = Type.Object({
  every_ms: Type.Integer({
    minimum: 1_000,
    maximum: 31 * 86_400_000,
    description: 'Pause between two runs, milliseconds',
  }),
  settings: Type.Record(Type.String({ maxLength: 40 }), Type.String({ maxLength: 4_096 }), {
    description: 'Options of its kind',
  }),
  paused: Type.Optional(Type.Boolean()),
})

/** The properties of a source key: it sends events of one kind, and opens nothing else. */
export const SourceFacts = Type.Object({
  kind: Type.String({ pattern: '^[a-z0-9-]{1,40}$', description: 'The source of the pipeline that its events go to' }),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'For people' })),
  address: Type.Enum([...SOURCE_ADDRESSES], {
    description:
      'Of events with its server key: of their payload, of the connection, or of the payload first and then of a browser',
  }),
  pull: Type.Optional(PullFacts),
  preset: Type.Optional(
    Type.String({ maxLength: 40, description: 'Whose logs they are: `src/pipeline/sources/http/presets.ts`' }),
  ),
  map: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Where fields of events are in its JSON: `src/pipeline/sources/mapping.ts`',
    }),
  ),
  all: Type.Optional(
    Type.Boolean({ description: 'Whether requests of its logs that are no page views become events too' }),
  ),
  verify: Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: '^[!-~]*$',
      description: "Code by which Vercel recognises that an endpoint is its customer's",
    }),
  ),
  base: Type.Optional(
    Type.String({ maxLength: 300, description: 'URL of the API as its senders reach it, for the text to paste' }),
  ),
  browser_key: Type.Optional(
    Type.String({
      pattern: '^pub_[0-9a-f]{40}$',
      description:
        'Its key for browsers, as it is: it is in public pages anyway. Sources of the kind web have no other key',
    }),
  ),
  secret: Type.Optional(
    Type.String({ maxLength: 16_384, description: 'Encrypted by src/secrets for the id of the source; empty: none' }),
  ),
})
export type SourceFacts = Static<typeof SourceFacts>

/**
 * An API key as JSON in Redis, in a hash by the SHA-256 of the key. The raw key is never stored; processes cache it in memory for a
 * minute.
 */
export const ApiKeyRecord = Type.Object({
  prefix: Type.String({ description: 'First 12 characters of the raw key, of a test key 17; of a source its id' }),
  tenant_id: Type.String(),
  created_at: Type.String({ description: 'ISO 8601, UTC' }),
  revoked_at: Type.Optional(Type.String({ description: 'ISO 8601, UTC' })),
  source: Type.Optional(SourceFacts),
  made_by: Type.Optional(Maker),
})
export type ApiKeyRecord = Static<typeof ApiKeyRecord>
