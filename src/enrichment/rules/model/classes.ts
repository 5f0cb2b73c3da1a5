/** What the model tells apart. */
export const MODEL_CLASSES = ['organisation', 'isp', 'hosting'] as const
export type ModelClass = (typeof MODEL_CLASSES)[number]

/** Turns sums of weights into shares that make 1, in place. */
export function softmax(sums: Float64Array): void {
  const most = Math.max(...sums)
  let total = 0
  for (let c = 0; c < sums.length; c++) {
    sums[c] = Math.exp(sums[c]! - most)
    total += sums[c]!
  }
  for (let c = 0; c < sums.length; c++) sums[c]! /= total
}
