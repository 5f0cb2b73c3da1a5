/** Controls of a terminal, ends of lines, and marks that turn the direction of a text. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const NAMES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
/** Characters that take two columns of a terminal, or none. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/gu
const NARROW = /[\p{Mn}\p{Me}\u200b-\u200d\ufeff]/gu
const ASCII = /^[\x20-\x7e]*$/

/** A text that came from outside, for a terminal: on one line, and without anything that a terminal obeys. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => NAMES[character] ?? escaped(character))
}

/** The same for a text of several lines. A text of JSON stays the same JSON. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  )
}

/** A text of several lines as one: lines without blanks around them, with a space between, and without empty ones. */
export function joinedLines(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

/** Columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  const count = (characters: RegExp) => text.match(characters)?.length ?? 0
  return [...text].length + count(WIDE) - count(NARROW)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
