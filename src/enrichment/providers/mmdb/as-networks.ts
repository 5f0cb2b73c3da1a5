import type { AddressRange } from '../../addresses/network.ts'
import { readMmdb } from './provider.ts'

/** A network and the AS that announces it. */
export interface AsNetwork {
  readonly range: AddressRange
  readonly asn: number
}

/**
 * The networks of autonomous systems in an MMDB, by a walk over its whole tree.
 * @param mapping text of the mapping file beside it
 * @returns undefined when no record of the file holds an AS number
 * @throws InputError when the file cannot be read
 */
export async function asNetworksIn(
  bytes: Buffer,
  mapping: string | undefined,
  wanted: ReadonlySet<number>,
): Promise<AsNetwork[] | undefined> {
  const { mmdb, asnOf } = await readMmdb(bytes, mapping)
  if (!mmdb.samples.some((sample) => asnOf(sample) !== undefined)) return undefined
  const numbers = new Map<number, number | undefined>()
  const found: AsNetwork[] = []
  mmdb.tree.eachNetwork((range, record) => {
    if (!numbers.has(record)) numbers.set(record, asnOf(mmdb.decode(record)))
    const asn = numbers.get(record)
    if (asn !== undefined && wanted.has(asn)) found.push({ range, asn })
  })
  return found
}
