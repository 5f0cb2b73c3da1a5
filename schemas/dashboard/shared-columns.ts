/* Columns and terms of shared links. Without TypeBox, because the pages import this file. */

/** Columns that a shared link may show beside the name: nothing that a colleague wrote, and no address or person. */
export const SHARED_COLUMNS = [
  'domain',
  'heat',
  'visits',
  'last_seen',
  'industry',
  'country_code',
  'events',
  'first_seen',
  'classification',
  'industry_category',
] as const
export type SharedColumn = (typeof SHARED_COLUMNS)[number]

/** How many days a shared link works. */
export const SHARED_DAYS = [7, 30, 90] as const
export const SHARED_DAYS_USUAL = 30
