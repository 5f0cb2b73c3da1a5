/**
 * Aborts a generator as soon as its reader leaves. A generator alone would notice only after the awaited piece.
 * @param make must throw when the signal aborts
 */
export function untilLeft<T>(make: (left: AbortSignal) => AsyncGenerator<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const leaving = new AbortController()
      const pieces = make(leaving.signal)
      return {
        next: () => pieces.next(),
        return() {
          leaving.abort()
          return pieces.return(undefined)
        },
      }
    },
  }
}
