/**
 * Pattern of ids in the path of a page. `events.page` has `*` in their place, so that a page with an id for each visitor counts as one page: a UUID; hexadecimal
 * digits; a ULID; the id of an API, such as cus_NffrFeUfNV2Hib; a number. For RE2 and JavaScript; the definition of the column repeats it.
 */
export const IDS_IN_PATHS =
  '\\b(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16,}|[0-7][0-9A-HJKMNP-TV-Z]{25}|[a-z]{2,8}_[0-9A-Za-z]{14,}|[0-9]{7,})\\b'

/** The text in a page in place of an id. */
export const ANY_ID = '*'
