/** Every stream has both lanes: two Redis streams in each partition. Live entries are read first. */
export const LANES = ['live', 'batch'] as const
export type Lane = (typeof LANES)[number]
