/** A share of checked cases with its 95 % interval. */
export interface Interval {
  readonly share: number
  readonly low: number
  readonly high: number
}

/** The quantile of the normal distribution for 95 %. */
const Z = 1.959964

/**
 * Wilson's score interval. It holds for few cases and for shares near 0 and 1 too.
 * @param share 0 to 1
 * @param cases independent ones
 * @returns undefined without a case
 */
export function wilson(share: number, cases: number): Interval | undefined {
  if (cases === 0) return undefined
  const z2 = Z * Z
  const centre = (share + z2 / (2 * cases)) / (1 + z2 / cases)
  const half = (Z / (1 + z2 / cases)) * Math.sqrt((share * (1 - share)) / cases + z2 / (4 * cases * cases))
  return { share, low: Math.max(0, centre - half), high: Math.min(1, centre + half) }
}
