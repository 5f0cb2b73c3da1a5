import { parseV4, parseV6 } from '../../../core/event/address.ts'
import { type AddressRange, ASN_MAX, clip, parseNetwork, v6Number } from '../../addresses/network.ts'
import { csvRows } from '../../providers/text/csv-rows.ts'
import { lineError, linesOf } from '../../providers/text/text-file.ts'
import { TimeSlice } from '../../time-slice.ts'

/** @param name `''` when the row gives none */
export type AsRangeVisitor = (range: AddressRange, asn: number, name: string) => void

const LINES_AT_A_TIME = 1_000
/** In ip2asn of iptoasn.com, what nobody announces. */
const NOT_ROUTED = '0'

/**
 * Visits the ranges of autonomous systems in a text, in its order; other work goes on in between. It is CSV with first
 * address, last address, number and name, or the tabs of iptoasn.com, with a country before the name.
 * @throws InputError with the line and the reason
 */
export async function eachAsRange(text: Buffer, visit: AsRangeVisitor): Promise<void> {
  const slice = new TimeSlice()
  const isTabs = isTabbed(text)
  for (const { line, text: content } of linesOf(text)) {
    if (line % LINES_AT_A_TIME === 0 && slice.isOver) await slice.next()
    if (content === '') continue
    if (isTabs) visitCells(line, content.split('\t'), visit)
    else if (!visitPlain(line, content, visit)) return await visitParsed(text, line, visit)
  }
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

/** Reads a line as almost all are; false for others. */
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

/** The last cell of a line; undefined when it is for the parser. */
function plainCell(cell: string): string | undefined {
  if (!cell.includes('"')) return cell.includes(',') ? undefined : cell.trim()
  const content = cell.slice(1, -1)
  if (!cell.startsWith('"') || !cell.endsWith('"') || cell.length < 2) return undefined
  if (!content.includes('"')) return content
  const unescaped = content.replaceAll('""', '')
  return unescaped.includes('"') ? undefined : content.replaceAll('""', '"')
}

/** Reads the rest of a text with the parser, which starts at its beginning. @param from the first line that is wanted */
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
  const range = rangeOf(first, last) ?? networkOf(line, first.trim(), last.trim())
  const asn = Number(number)
  if (!(/^\d{1,10}$/.test(number) && asn >= 1 && asn <= ASN_MAX)) {
    throw lineError(line, `"${clip(number)}" is not an AS number`)
  }
  visit(range, asn, name)
}

/** Undefined for whatever is not plain. */
function rangeOf(first: string, last: string): AddressRange | undefined {
  const [from, to] = [parseV4(first), parseV4(last)]
  if (from >= 0 && from <= to) return { version: 4, first: from, last: to }
  const [fromGroups, toGroups] = [parseV6(first), parseV6(last)]
  // IPv4-mapped addresses start with 0.
  if (fromGroups === undefined || toGroups === undefined || fromGroups[0] === 0) return undefined
  const range: AddressRange = { version: 6, first: v6Number(fromGroups), last: v6Number(toGroups) }
  return range.first <= range.last ? range : undefined
}

function networkOf(line: number, first: string, last: string): AddressRange {
  const network = parseNetwork(`${first}-${last}`)
  if (typeof network === 'string') throw lineError(line, network)
  if (network.version === 'as') throw lineError(line, `"${clip(first)}" is not an address`)
  return network
}
