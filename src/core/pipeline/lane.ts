/** Each stream has two lanes; live goes first. */
export const LANES = ['live', 'batch'] as const
export type Lane = (typeof LANES)[number]
