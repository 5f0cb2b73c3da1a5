/** An element inside a sentence, for example a time: what Preact shows. Its own type would bring the types of browsers to the server. */
export type Part = object | string | number | boolean | null | undefined

/** Puts an element around a part of a sentence, for example a link around its words. */
export type Wrap = (text: string) => Part

/** A sentence with elements in it: parts`See ${link('Settings')}.` */
export function parts(texts: readonly string[], ...between: readonly Part[]): Part {
  return texts.flatMap((text, i) => [text, between[i]])
}
