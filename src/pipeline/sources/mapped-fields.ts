/**
 * Fields of a request, which say whether it is a page view. `request` is its first line, `GET /path HTTP/1.1`. They have no names of their
 * own in an event, so they count only where a path leads to them, and their values stay in `properties`.
 */
export const REQUEST_FIELDS = ['status', 'method', 'content_type', 'request'] as const

/**
 * Fields that a source can take from any place in its JSON. `user_agent` becomes a property of that name, `url` and the fields of
 * campaigns describe the page.
 */
export const MAPPED_FIELDS = [
  'ip',
  'event_id',
  'timestamp',
  'event_type',
  'account_id',
  'session_id',
  'platform',
  'user_agent',
  'user_properties',
  'url',
  'referrer',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
  ...REQUEST_FIELDS,
] as const
export type MappedField = (typeof MAPPED_FIELDS)[number]

/**
 * Where a source's fields are in its JSON, by field. A path is a key; dots lead into objects, and numbers into arrays:
 * `request.headers.0.value`, or `request.headers[0].value`. A path with braces is a text made of paths: `https://{host}{uri}`.
 */
export type Mapping = Readonly<Partial<Record<MappedField, string>>>

/** As `Mapping`; of several paths the first that leads to a value counts. */
export type Paths = Readonly<Partial<Record<MappedField, string | readonly string[]>>>
