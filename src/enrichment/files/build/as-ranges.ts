import { setImmediate } from 'node:timers/promises'
import { InputError } from '../../../core/run/errors.ts'
import { ASN_MAX, clip, parseNetwork } from '../../addresses/network.ts'
import { MmdbWriter, type StoredRecord } from '../../providers/mmdb/writer.ts'
import { csvRows } from '../../providers/text/csv-rows.ts'
import { lineError, linesOf } from '../../providers/text/text-file.ts'

/** `database_type` of what is compiled from ranges of autonomous systems. */
export const AS_RANGES_TYPE = 'AS ranges'

const LINES_AT_A_TIME = 10_000
/** In ip2asn of iptoasn.com, what nobody announces. */
const NOT_ROUTED = '0'

/**
 * Compiles ranges of autonomous systems into an MMDB with the members of GeoLite2-ASN. Two forms are known: CSV with
 * first address, last address, number and name, and the tabs of iptoasn.com, with a country in front of the name.
 * @throws InputError with the line and the reason
 */
export async function compileAsRanges(texts: readonly Buffer[], builtAtMs: number, source: string): Promise<Buffer> {
  const writer = new MmdbWriter({
    databaseType: AS_RANGES_TYPE,
    description: { en: `Autonomous systems by network, of ${source}` },
    buildEpoch: Math.floor(builtAtMs / 1_000),
  })
  const known = new Map<string, StoredRecord>()
  let ranges = 0
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
      const name = names.at(-1)
      const content = `${asn} ${name}`
      const stored =
        known.get(content) ??
        writer.store({
          autonomous_system_number: asn,
          autonomous_system_organization: name === '' ? undefined : name,
        })
      known.set(content, stored)
      writer.insertStored(network, stored)
      ranges++
    }
  }
  if (ranges === 0) throw new InputError('it holds no ranges')
  return writer.toBuffer()
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
