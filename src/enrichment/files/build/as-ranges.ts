import { setImmediate } from 'node:timers/promises'
import { InputError } from '../../../core/run/errors.ts'
import { type AddressRange, ASN_MAX, clip, parseNetwork } from '../../addresses/network.ts'
import { AS_RANGES_TYPE, type AsSize, sizeMembers } from '../../providers/mmdb/as-sizes.ts'
import { MmdbWriter, type StoredRecord } from '../../providers/mmdb/writer.ts'
import { csvRows } from '../../providers/text/csv-rows.ts'
import { lineError, linesOf } from '../../providers/text/text-file.ts'

const LINES_AT_A_TIME = 10_000
/** In ip2asn of iptoasn.com, what nobody announces. */
const NOT_ROUTED = '0'

/**
 * Compiles ranges of autonomous systems into an MMDB with the members of GeoLite2-ASN, and the size of each system, so that who
 * loads it need not count. Two forms are known: CSV with
 * first address, last address, number and name, and the tabs of iptoasn.com, with a country in front of the name.
 * @throws InputError with the line and the reason
 */
export async function compileAsRanges(texts: readonly Buffer[], builtAtMs: number, source: string): Promise<Buffer> {
  const writer = new MmdbWriter({
    databaseType: AS_RANGES_TYPE,
    description: { en: `Autonomous systems by network, of ${source}` },
    buildEpoch: Math.floor(builtAtMs / 1_000),
  })
  const sizes = new Map<number, AsSize>()
  for await (const { network, asn } of rangesIn(texts)) {
    const { addresses, hasV6 } = sizes.get(asn) ?? { addresses: 0, hasV6: false }
    const more = network.version === 4 ? network.last - network.first + 1 : 0
    sizes.set(asn, { addresses: addresses + more, hasV6: hasV6 || network.version === 6 })
  }
  if (sizes.size === 0) throw new InputError('it holds no ranges')
  const known = new Map<string, StoredRecord>()
  for await (const { network, asn, name } of rangesIn(texts)) {
    const content = `${asn} ${name}`
    const stored =
      known.get(content) ??
      writer.store({
        autonomous_system_number: asn,
        autonomous_system_organization: name === '' ? undefined : name,
        ...sizeMembers(sizes.get(asn)!),
      })
    known.set(content, stored)
    writer.insertStored(network, stored)
  }
  return writer.toBuffer()
}

interface AsRange {
  readonly network: AddressRange
  readonly asn: number
  readonly name: string | undefined
}

async function* rangesIn(texts: readonly Buffer[]): AsyncGenerator<AsRange> {
  for (const text of texts) {
    for await (const { line, cells } of isTabbed(text) ? tabbedRows(text) : csvRows(text, false)) {
      const [first, last, number, ...names] = cells
      if (number === NOT_ROUTED) continue
      const network = parseNetwork(`${first}-${last}`)
      if (typeof network === 'string') throw lineError(line, network)
      const asn = /^\d{1,10}$/.test(number ?? '') ? Number(number) : Number.NaN
      if (network.version === 'as' || !(asn >= 1 && asn <= ASN_MAX)) {
        throw lineError(line, `"${clip(number ?? '')}" is not an AS number`)
      }
      yield { network, asn, name: names.at(-1) }
    }
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

async function* tabbedRows(text: Buffer): AsyncGenerator<{ readonly line: number; readonly cells: readonly string[] }> {
  for (const { line, text: content } of linesOf(text)) {
    if (line % LINES_AT_A_TIME === 0) await setImmediate()
    if (content !== '') yield { line, cells: content.split('\t') }
  }
}
