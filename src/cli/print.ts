/** Controls of a terminal, ends of lines, and marks that turn the direction of a text. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const NAMES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A text that came from outside, as a terminal may have it: on one line, and without anything that a terminal obeys. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => NAMES[character] ?? escaped(character))
}

/** The same of a text of several lines. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  )
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Prints one line for people. */
export function printLine(out: NodeJS.WritableStream, text: string): void {
  out.write(`${visible(text)}\n`)
}

/** Prints one JSON value on a line of its own. */
export function printJson(out: NodeJS.WritableStream, value: unknown): void {
  out.write(`${JSON.stringify(value)}\n`)
}

export type Cell = string | number | boolean | null | undefined

/** Prints rows under headings, columns aligned: numbers to the right, `-` for what is not there. */
export function printTable(
  out: NodeJS.WritableStream,
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
): void {
  const texts = [headings.map(visible), ...rows.map((row) => row.map(cellText))]
  const widths = headings.map((_, i) => Math.max(...texts.map((row) => widthOf(row[i] ?? ''))))
  const right = headings.map((_, i) => rows.length > 0 && rows.every((row) => typeof row[i] === 'number'))
  for (const row of texts) {
    const cells = row.map((text, i) => {
      const space = ' '.repeat(widths[i]! - widthOf(text))
      return right[i] ? space + text : text + space
    })
    out.write(`${cells.join('   ').trimEnd()}\n`)
  }
}

/** Prints names and their values, one pair a line. */
export function printPairs(out: NodeJS.WritableStream, pairs: readonly (readonly [name: string, value: Cell])[]): void {
  const width = Math.max(...pairs.map(([name]) => visible(name).length))
  for (const [name, value] of pairs) out.write(`${visible(name).padEnd(width)}   ${cellText(value)}\n`)
}

function cellText(cell: Cell): string {
  if (cell === undefined || cell === null || cell === '') return '-'
  if (typeof cell === 'boolean') return cell ? 'on' : 'off'
  return visible(String(cell))
}

/** Characters, not UTF-16 units. */
function widthOf(text: string): number {
  return [...text].length
}
