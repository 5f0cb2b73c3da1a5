import { parseAddress } from '../../../pipeline/event/address.ts'
import { headerlessTable } from './headerless.ts'

/** DB-IP's lite files as CSV (db-ip.com/db/format), and any other file with their columns. */
export const dbip = headerlessTable({
  name: 'dbip csv',
  vendor: 'DB-IP',
  isOwn: ([first = '', last = '']) => parseAddress(first) !== undefined && parseAddress(last) !== undefined,
  layouts: [
    ['country_code'],
    ['asn', 'as_name'],
    ['continent', 'country_code', 'region', 'city', 'latitude', 'longitude'],
  ],
  products: 'the lite files (country, ASN, city)',
})
