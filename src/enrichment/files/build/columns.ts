/** A column with twice the length and the same values at its start. */
export function doubled<T extends Uint32Array | Int32Array>(column: T): T {
  const larger = new (column.constructor as new (length: number) => T)(2 * column.length)
  larger.set(column)
  return larger
}
