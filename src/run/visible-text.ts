/** Control characters, line ends, and marks that change the direction of a text. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const NAMES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
/** Characters that take two columns of a terminal, or none. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/gu
const NARROW = /[\p{Mn}\p{Me}\u200b-\u200d\ufeff]/gu
const ASCII = /^[\x20-\x7e]*$/

/** Makes an outside text safe for a terminal: one line, without control characters. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => NAMES[character] ?? escaped(character))
}

/** The same for several lines. Keeps the meaning of JSON. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  )
}

/** Joins lines with spaces. Trims them, and leaves out empty ones. */
export function joinedLines(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

/** The width of a text on a terminal, in columns. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  const count = (characters: RegExp) => text.match(characters)?.length ?? 0
  return [...text].length + count(WIDE) - count(NARROW)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
