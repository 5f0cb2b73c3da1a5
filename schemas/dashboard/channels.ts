import { type Static, Type } from 'typebox'
import { CHANNELS } from '../companies.ts'
import { PagesQuery } from './pages.ts'

/** Values of each list. */
export const CHANNEL_LIMITS = { values: 50 } as const

/** `GET /api/tenants/:tenant/channels`: the companies with a visit on these days, by the first or the last touch of all time. */
export const ChannelsQuery = Type.Object(
  {
    ...{ from: PagesQuery.properties.from, to: PagesQuery.properties.to },
    touch: Type.Optional(Type.Enum(['first', 'last'], { description: 'Default: first' })),
  },
  { additionalProperties: false },
)
export type ChannelsQuery = Static<typeof ChannelsQuery>

/** Those with the most companies first. */
export const ChannelsAnswer = Type.Object({
  /** Companies with a visit on these days. */
  companies: Type.Integer(),
  /** An empty channel: no event of the company has a URL. */
  channels: Type.Array(Type.Object({ channel: Type.Enum([...CHANNELS, '']), companies: Type.Integer() })),
  campaigns: Type.Array(Type.Object({ campaign: Type.String(), companies: Type.Integer() })),
  /** Sources that have one: not those of direct touches. */
  sources: Type.Array(Type.Object({ source: Type.String(), companies: Type.Integer() })),
})
export type ChannelsAnswer = Static<typeof ChannelsAnswer>
