import type { OpenSealedFile, SealedHead } from './sealed-file.ts'

/** Texts in one buffer, by number. V8 takes 20 bytes more for each string. */
export class PackedTexts {
  readonly bytes: Buffer
  /** Where each text ends. */
  readonly ends: Uint32Array

  constructor(bytes: Uint8Array, ends: Uint32Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.ends = ends
  }

  static of(texts: readonly string[]): PackedTexts {
    let end = 0
    const ends = Uint32Array.from(texts, (text) => {
      end += Buffer.byteLength(text)
      return end
    })
    // Not from the pool of small buffers, which would stay in memory as a whole.
    const bytes = Buffer.alloc(end)
    bytes.write(texts.join(''))
    return new PackedTexts(bytes, ends)
  }

  at(number: number): string {
    return this.bytes.toString('utf8', number === 0 ? 0 : this.ends[number - 1]!, this.ends[number]!)
  }
}

/** Reads two columns: the ends of texts, and their bytes. */
export function nextTexts(file: OpenSealedFile<SealedHead>): PackedTexts {
  const ends = file.next(Uint32Array)
  return new PackedTexts(file.next(Uint8Array), ends)
}
