/**
 * Merges sorted sources into one sorted sequence. Holds one value of each source.
 * @param isBefore whether a value comes before another
 */
export async function* inOrder<T>(
  sources: readonly AsyncIterator<T, void>[],
  isBefore: (a: T, b: T) => boolean,
): AsyncGenerator<T, void> {
  const heads = await Promise.all(sources.map(async (source) => ({ source, next: await source.next() })))
  for (;;) {
    let first: { readonly head: (typeof heads)[number]; readonly value: T } | undefined
    for (const head of heads) {
      if (head.next.done) continue
      const { value } = head.next
      if (first === undefined || isBefore(value, first.value)) first = { head, value }
    }
    if (first === undefined) return
    yield first.value
    first.head.next = await first.head.source.next()
  }
}
