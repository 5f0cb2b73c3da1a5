/** Infrastructure that a table or list may name. */
export const NOISE_CLASSES = ['isp', 'hosting', 'cloud', 'cdn'] as const
export type NoiseClass = (typeof NOISE_CLASSES)[number]

/** Classifications that a data file may state. */
export const STATED_CLASSIFICATIONS = ['business', 'education', 'government', ...NOISE_CLASSES] as const

/** What kind of organisation an address belongs to. `reserved` follows from the address alone. */
export const CLASSIFICATIONS = [...STATED_CLASSIFICATIONS, 'reserved'] as const
export type Classification = (typeof CLASSIFICATIONS)[number]

/** Infrastructure: events from these are answered `filtered` and kept out of the accounts. */
export const NOISE: ReadonlySet<Classification> = new Set([...NOISE_CLASSES, 'reserved'])
