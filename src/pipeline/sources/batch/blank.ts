/** White space of Unicode beyond ASCII, and the byte order mark, which shows nothing either. */
const WIDE =
  '\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

/** UTF-8 bytes of those characters as numbers, and the beginnings of them. */
const WHOLE = new Set<number>()
const BEGUN = new Set<number>()
for (const character of WIDE) {
  const bytes = Buffer.from(character)
  for (let length = 1; length < bytes.length; length++) BEGUN.add(bytes.readUIntBE(0, length))
  WHOLE.add(bytes.readUIntBE(0, bytes.length))
}

const SPACE = 32
const TAB = 9
const CARRIAGE_RETURN = 13

/** What `nextBlank` returns for a byte that is no part of white space. */
export const NOT_BLANK = -1

/**
 * Reads UTF-8 byte by byte.
 * @param begun bytes of a character that is not whole; 0 for none
 * @returns the next `begun`, or NOT_BLANK
 */
export function nextBlank(begun: number, byte: number): number {
  // From tab to carriage return: line feed, vertical tab and form feed lie between.
  if (begun === 0 && byte < 128) return byte === SPACE || (byte >= TAB && byte <= CARRIAGE_RETURN) ? 0 : NOT_BLANK
  const now = begun * 256 + byte
  if (WHOLE.has(now)) return 0
  return BEGUN.has(now) ? now : NOT_BLANK
}

/** Whether a text that comes in pieces is white space so far. */
export class BlankText {
  #begun = 0

  /** Whether nothing came but white space, and no character is cut off. */
  get isBlank(): boolean {
    return this.#begun === 0
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#begun !== NOT_BLANK; at++)
      this.#begun = nextBlank(this.#begun, bytes[at]!)
  }

  clear(): void {
    this.#begun = 0
  }
}
