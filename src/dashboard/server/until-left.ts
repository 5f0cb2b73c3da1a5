/**
 * Pieces whose making ends as soon as their reader leaves. A generator by itself is told of it only behind the piece that it waits
 * for.
 * @param make ends with any failure when the signal says so
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
