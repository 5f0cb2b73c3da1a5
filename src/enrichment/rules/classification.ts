import type { Classification } from '../../core/event/enrichment.ts'

/** Classifications that tables and lists may state. `reserved` follows from the address alone. */
export const CLASSIFICATIONS = [
  'business',
  'education',
  'government',
  'isp',
  'hosting',
  'cloud',
  'cdn',
] as const satisfies readonly Classification[]

/** Kinds of lists, as the first word of a file's name. */
export const NOISE_CLASSES = ['cloud', 'cdn', 'hosting', 'isp'] as const satisfies readonly Classification[]
export type NoiseClass = (typeof NOISE_CLASSES)[number]
