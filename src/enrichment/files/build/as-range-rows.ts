import { type AddressRange, ASN_MAX, clip, parseNetwork } from '../../addresses/network.ts'
import { type WordRange, wordRange } from '../../addresses/word-range.ts'
import { csvRows } from '../../providers/text/csv-rows.ts'
import { LINE_BYTES_MAX, lineError } from '../../providers/text/text-file.ts'
import { TimeSlice } from '../../time-slice.ts'
import { AsRowBytes, type RowForm } from './as-row-bytes.ts'

/**
 * @param range valid until the visitor returns
 * @param name `''` for none
 * @param line line number, from 1
 */
type AsRangeVisitor = (range: WordRange, asn: number, name: string, line: number) => void

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const LINES_AT_A_TIME = 1_000
const CSV: RowForm = { separator: 44, hasMore: false, nameOf: plainCell }
const TABS: RowForm = { separator: 9, hasMore: true, nameOf: (cell) => cell }
/** The AS number of iptoasn.com for addresses that no AS announces. */
const NOT_ROUTED = '0'

/**
 * Visits the ranges of autonomous systems in a text, in order, yielding to other work. The text is CSV with first address,
 * last address, number and name, or tab-separated as on iptoasn.com, with a country before the name.
 * @throws InputError with the line and the reason
 */
export async function eachAsRange(text: Buffer, visit: AsRangeVisitor): Promise<void> {
  const slice = new TimeSlice()
  const isTabs = isTabbed(text)
  const row = new AsRowBytes(text, isTabs ? TABS : CSV)
  for (let at = 0, line = 1; at < text.length; line++) {
    if (line % LINES_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const next = endOfLine(text, at)
    const end = next > at && text[next - 1] === CARRIAGE_RETURN ? next - 1 : next
    if (next - at > LINE_BYTES_MAX) throw lineError(line, `longer than ${LINE_BYTES_MAX} bytes`)
    if (row.read(at, end)) visit(row.range, row.asn, row.name, line)
    else if (!visitText(line, text.toString('utf8', at, end), isTabs, visit))
      return await visitParsed(text, line, visit)
    at = next + 1
  }
}

/** A loop, because `indexOf` takes several times as long for lines of 50 bytes. */
function endOfLine(text: Buffer, start: number): number {
  let end = start
  while (end < text.length && text[end] !== LINE_FEED) end++
  return end
}

/** Reads a line as a string; false when it needs the parser. */
function visitText(line: number, content: string, isTabs: boolean, visit: AsRangeVisitor): boolean {
  if (content === '') return true
  if (!isTabs) return visitPlain(line, content, visit)
  visitCells(line, content.split('\t'), visit)
  return true
}

/** Whether a text looks like ranges of autonomous systems. */
export function isAsRanges(text: Buffer): boolean {
  const head = text.subarray(0, 512).toString('utf8').split('\n')[0] ?? ''
  const [first, last, number] = head.split(head.includes('\t') ? '\t' : ',')
  return typeof parseNetwork(`${first}-${last}`) !== 'string' && /^\d{1,10}$/.test(number ?? '')
}

function isTabbed(text: Buffer): boolean {
  const end = text.indexOf(10)
  return text.subarray(0, end < 0 ? text.length : end).includes(9)
}

/** Reads a line of CSV that needs no parser; false for others. */
function visitPlain(line: number, content: string, visit: AsRangeVisitor): boolean {
  const first = content.indexOf(',')
  const second = content.indexOf(',', first + 1)
  const third = content.indexOf(',', second + 1)
  if (first < 0 || second < 0 || third < 0 || content.startsWith('#')) return false
  const name = plainCell(content.slice(third + 1))
  if (name === undefined || content.slice(0, third).includes('"')) return false
  visitRange(
    line,
    content.slice(0, first),
    content.slice(first + 1, second),
    content.slice(second + 1, third),
    name,
    visit,
  )
  return true
}

/** The last cell of a line; undefined when it needs the parser. */
function plainCell(cell: string): string | undefined {
  if (!cell.includes('"')) return cell.includes(',') ? undefined : cell.trim()
  const content = cell.slice(1, -1)
  if (!cell.startsWith('"') || !cell.endsWith('"') || cell.length < 2) return undefined
  if (!content.includes('"')) return content
  const unescaped = content.replaceAll('""', '')
  return unescaped.includes('"') ? undefined : content.replaceAll('""', '"')
}

/** Reads a text with the parser, which must start at the top. @param from the first line to visit */
async function visitParsed(text: Buffer, from: number, visit: AsRangeVisitor): Promise<void> {
  for await (const { line, cells } of csvRows(text, false)) if (line >= from) visitCells(line, cells, visit)
}

function visitCells(
  line: number,
  [first = '', last = '', number = '', ...names]: readonly string[],
  visit: AsRangeVisitor,
) {
  visitRange(line, first, last, number, names.at(-1) ?? '', visit)
}

function visitRange(
  line: number,
  first: string,
  last: string,
  numberCell: string,
  name: string,
  visit: AsRangeVisitor,
): void {
  const number = numberCell.trim()
  if (number === NOT_ROUTED) return
  const range = networkOf(line, first.trim(), last.trim())
  const asn = Number(number)
  if (!(/^\d{1,10}$/.test(number) && asn >= 1 && asn <= ASN_MAX)) {
    throw lineError(line, `"${clip(number)}" is not an AS number`)
  }
  visit(wordRange(range), asn, name, line)
}

function networkOf(line: number, first: string, last: string): AddressRange {
  const network = parseNetwork(`${first}-${last}`)
  if (typeof network === 'string') throw lineError(line, network)
  if (network.version === 'as') throw lineError(line, `"${clip(first)}" is not an address`)
  return network
}
