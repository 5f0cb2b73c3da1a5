import { once } from 'node:events'
import { visible, visibleLines, widthOf } from '../run/visible-text.ts'

/*
 * All output of commands goes through here, because much of it comes from outside: file names, types of other databases,
 * event ids, messages of servers. A test forbids commands to write to streams directly.
 */

/** Prints one line for people. */
export function printLine(out: NodeJS.WritableStream, text: string): void {
  out.write(`${visible(text)}\n`)
}

/** Prints a part of a line, for example a question. */
export function printPart(out: NodeJS.WritableStream, text: string): void {
  out.write(visible(text))
}

/** Prints our own lines, each ended by a line feed. Texts from outside in them must each be on one line. */
export function printLines(out: NodeJS.WritableStream, text: string): void {
  out.write(visibleLines(text))
}

/** As `printLines`, but resolves when the stream can take more. */
export async function printMore(out: NodeJS.WritableStream, text: string): Promise<void> {
  if (!out.write(visibleLines(text))) await once(out, 'drain')
}

/** Passes bytes on unchanged, for programs. Resolves when the stream can take more. */
export async function passOn(out: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  if (!out.write(bytes)) await once(out, 'drain')
}

/** Prints one JSON value on a line of its own. */
export function printJson(out: NodeJS.WritableStream, value: unknown): void {
  printLines(out, `${JSON.stringify(value)}\n`)
}

export type Cell = string | number | boolean | null | undefined

/** Prints rows under headings with aligned columns: numbers to the right, `-` for missing values. */
export function printTable(
  out: NodeJS.WritableStream,
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
): void {
  const texts = [headings.map(visible), ...rows.map((row) => row.map(cellText))]
  // Not Math.max(...all): a call takes some 100,000 arguments, and a list has no limit.
  const widths = headings.map((_, i) => texts.reduce((most, row) => Math.max(most, widthOf(row[i] ?? '')), 0))
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
