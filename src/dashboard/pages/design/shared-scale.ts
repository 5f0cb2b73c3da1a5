/** Rows of 100 that fit into the scale; the bars of the others are cut. */
const FITTING_PERCENT = 90

/**
 * The highest value that the sparklines of a list show, so that they have one scale. It is the 90th percentile (nearest rank) of the
 * rows' highest values, without rows that have none: one busy row would flatten all others. At least 1.
 * @param rows values of each row; undefined: they are loading
 */
export function sharedScale(rows: readonly (readonly number[] | undefined)[]): number {
  const highest = rows.map((values = []) => Math.max(0, ...values)).filter((value) => value > 0)
  highest.sort((a, b) => a - b)
  return highest[Math.ceil((highest.length * FITTING_PERCENT) / 100) - 1] ?? 1
}
