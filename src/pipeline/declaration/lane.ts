/** Every stream has both, each a Redis stream of its own in every partition. Live goes first wherever both wait. */
export const LANES = ['live', 'batch'] as const
export type Lane = (typeof LANES)[number]
