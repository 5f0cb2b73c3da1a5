import { printTable } from '../../src/terminal/print.ts'
import { PLAIN_STACK } from '../bounds/plain.ts'
import type { ScenarioResult, Spread } from './results.ts'

/** Prints the results of a scenario as tables. */
export function printResult(out: NodeJS.WritableStream, result: ScenarioResult): void {
  out.write(`\n${result.scenario}: medians of ${result.runs} ${result.runs === 1 ? 'run' : 'runs'}\n`)
  const figures = Object.entries(result.figures)
  if (result.base === undefined) {
    const rows = figures.map(([name, { median, lowest, highest }]) => [name, median, lowest, highest])
    print(out, ['', 'MEDIAN', 'LOWEST', 'HIGHEST'], rows)
  } else {
    const { figures: base, ratios } = result.base
    const of = (spread: Spread | undefined) => spread?.median
    const plain = (figure: string) =>
      result.bounds.find(({ name, figure: of }) => name === PLAIN_STACK && of === figure)
    const rows = figures.map(([name, spread]) => {
      const bound = plain(name)
      return [name, of(base[name]), spread.median, ratios[name], bound?.median, bound?.ratio]
    })
    print(out, ['', 'BASE', 'BRANCH', 'RATIO', 'PLAIN STACK', 'BRANCH : PLAIN'], rows)
  }
  const bounds = result.bounds.filter(({ name }) => result.base === undefined || name !== PLAIN_STACK)
  if (bounds.length === 0) return
  const rows = bounds.map(({ name, figure, median, ratio }) => [`${figure} of ${name}`, median, ratio])
  print(out, ['BOUND', 'MEDIAN', 'PRODUCT : BOUND'], rows)
}

type Row = readonly (string | number | undefined)[]

/** Aligns numbers to the right. */
function print(out: NodeJS.WritableStream, headings: readonly string[], rows: readonly Row[]): void {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? formatted(cell) : (cell ?? '-'))))
  const widths = headings.map((heading, i) => Math.max(heading.length, ...texts.map((row) => row[i]!.length)))
  const toTheRight = (row: readonly string[]) => row.map((cell, i) => (i === 0 ? cell : cell.padStart(widths[i]!)))
  printTable(out, toTheRight(headings), texts.map(toTheRight))
}

/** At least three significant digits, and no fraction for large values. */
function formatted(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2)
}
