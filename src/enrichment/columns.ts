/** A column with twice the length and the same values at its start. */
export function doubled<T extends Uint32Array | Int32Array>(column: T): T {
  const larger = new (column.constructor as new (length: number) => T)(2 * column.length)
  larger.set(column)
  return larger
}

/** Position of the first of ascending numbers that is not below a value; the length of the column when all are. */
export function firstAtLeast(ascending: Uint32Array, value: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
