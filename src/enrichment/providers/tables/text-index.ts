/**
 * Finds numbers by text, in 8 bytes for each entry: it holds a hash instead of the text. A result may belong to another
 * text with the same hash, so the caller compares.
 */
export class TextIndex {
  readonly #hashes: Uint32Array
  readonly #numbers: Uint32Array

  constructor(entries: readonly (readonly [text: string, number: number])[]) {
    const hashed = entries.map(([text, number]) => [hashOf(text), number] as const)
    hashed.sort(([a, m], [b, n]) => a - b || m - n)
    this.#hashes = Uint32Array.from(hashed, ([hash]) => hash)
    this.#numbers = Uint32Array.from(hashed, ([, number]) => number)
  }

  /** The candidates, in ascending order. */
  find(text: string): number[] {
    const hash = hashOf(text)
    let low = 0
    let high = this.#hashes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#hashes[middle]! < hash) low = middle + 1
      else high = middle
    }
    const found: number[] = []
    for (let at = low; this.#hashes[at] === hash; at++) found.push(this.#numbers[at]!)
    return found
  }
}

/** FNV-1a over UTF-16 code units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
