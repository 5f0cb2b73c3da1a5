import { clip } from '../../addresses/network.ts'
import { lineError, pacedLines } from '../../providers/text/text-file.ts'
import { isNotKnown } from '../../rules/not-known.ts'
import { rangeBetween, type VendorRow, vendorTable } from './vendor-table.ts'

/** The files of iptoasn.com. */
export const iptoasn = vendorTable({ name: 'iptoasn', ending: /\.tsv(?:\.gz)?$/i, rows })

/** The AS number of iptoasn for addresses that no AS announces. */
const NOT_ANNOUNCED = '0'

/**
 * First and last address, then AS number, country and name of the AS, or only a country. The country of an AS is that of its
 * registration, so it is not used for the addresses.
 */
async function* rows(text: Buffer): AsyncGenerator<VendorRow> {
  for await (const { line, text: content } of pacedLines(text)) {
    if (content.trim() === '' || content.startsWith('#')) continue
    const [first = '', last = '', ...rest] = content.split('\t')
    const range = rangeBetween(line, first, last)
    const [asn = '', , name = ''] = rest
    if (rest.length === 1) {
      if (/^[A-Z]{2}$/.test(asn)) yield { line, range, record: { country_code: asn } }
      continue
    }
    if (asn === NOT_ANNOUNCED || isNotKnown(asn)) continue
    if (!/^\d{1,10}$/.test(asn))
      throw lineError(line, `"${clip(asn)}" is not an AS number: a file of iptoasn.com is expected`)
    yield { line, range, record: { autonomous_system_number: asn, autonomous_system_organization: name } }
  }
}
