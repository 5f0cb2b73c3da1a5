/** Reads at least the given number of bytes, unless the source is shorter. Returns them, and the whole source. */
export async function peek(
  source: AsyncIterable<Buffer>,
  bytes: number,
): Promise<[head: Buffer, all: AsyncIterable<Buffer>]> {
  const iterator = source[Symbol.asyncIterator]()
  const chunks: Buffer[] = []
  let size = 0
  while (size < bytes) {
    const next = await iterator.next()
    if (next.done) break
    chunks.push(next.value)
    size += next.value.length
  }
  const head = Buffer.concat(chunks)
  async function* all(): AsyncGenerator<Buffer> {
    yield head
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return [head, all()]
}
