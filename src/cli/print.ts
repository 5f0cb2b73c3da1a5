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
  const texts = [headings, ...rows.map((row) => row.map(cellText))]
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
  const width = Math.max(...pairs.map(([name]) => name.length))
  for (const [name, value] of pairs) out.write(`${name.padEnd(width)}   ${cellText(value)}\n`)
}

function cellText(cell: Cell): string {
  if (cell === undefined || cell === null || cell === '') return '-'
  if (typeof cell === 'boolean') return cell ? 'on' : 'off'
  return String(cell)
}

/** Characters, not UTF-16 units. */
function widthOf(text: string): number {
  return [...text].length
}
