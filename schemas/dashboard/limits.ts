/* Limits of the dashboard's calls. Without TypeBox, because the pages import this file. */

/** Longest life of a member's link, in days. */
export const LINK_DAYS_MAX = 90

/** Most addresses of a lookup on a page, and most characters of its text. */
export const PAGE_LOOKUPS_MAX = 1_000
export const PAGE_LOOKUP_CHARS_MAX = 200_000

/** Most texts to list that are not addresses. */
export const SKIPPED_MAX = 20

/** Most characters of a person's name and e-mail address. */
export const NAME_CHARS_MAX = 80
export const EMAIL_CHARS_MAX = 254

/** Most characters of the name of an alert or a segment. */
export const LABEL_CHARS_MAX = 64

/** Days without a visit after which a company returns. */
export const AFTER_DAYS_MIN = 2
export const AFTER_DAYS_MAX = 365
export const AFTER_DAYS_USUAL = 30

/** Files that an export keeps. */
export const EXPORT_KEEP_MAX = 400
export const EXPORT_KEEP_USUAL = 30
