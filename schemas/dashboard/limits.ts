/*
 * Limits of what pages ask for. Plain numbers and no TypeBox: the pages show them.
 */

/** How long the link of a member may work, days. */
export const LINK_DAYS_MAX = 90

/** Addresses of one lookup on a page, and characters of the text that they are in. */
export const PAGE_LOOKUPS_MAX = 1_000
export const PAGE_LOOKUP_CHARS_MAX = 200_000

/** Of what is not looked up, so much is named. */
export const SKIPPED_MAX = 20
