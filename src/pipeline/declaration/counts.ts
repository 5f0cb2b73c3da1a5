/** What `enrich` counts: events whose address belongs to a known organisation that is not noise. */
export const IDENTIFIED = 'identified'
