/** A promise that is broken on purpose, to see whether the tests notice. */
export interface Mutant {
  /** Short, of lower case letters, digits and hyphens. */
  readonly name: string
  /** The promise of the product, as a sentence. */
  readonly promise: string
  /** From the root. */
  readonly file: string
  /** Text that is in the file exactly once, and its replacement. */
  readonly from: string
  readonly to: string
  readonly noticedBy: readonly NoticingTests[]
}

/** Tests of a file: those whose titles contain one of the texts, or all when none is named. */
export type NoticingTests = readonly [file: `test/${string}.test.ts`, ...titles: string[]]

/** The text of the mutant's file with the promise broken. @throws Error when the text is not in it exactly once */
export function broken({ name, file, from, to }: Mutant, text: string): string {
  const at = text.indexOf(from)
  if (at < 0) throw new Error(`${name}: ${file} does not hold the text any more: ${from}`)
  if (text.indexOf(from, at + 1) >= 0) throw new Error(`${name}: ${file} holds the text more than once: ${from}`)
  return text.slice(0, at) + to + text.slice(at + from.length)
}
