import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import type { AddressRange } from '../../addresses/network.ts'
import { readMmdb } from '../../providers/mmdb/provider.ts'
import { readMapping } from '../formats/mmdb.ts'

/** The source of the networks of autonomous systems: one MMDB, or the best one of a folder. */
export type AsSource = { readonly file: string } | { readonly dir: string }

/** The networks, and the file that has them. */
interface FoundAsNetworks {
  readonly file: string
  readonly networks: readonly AsNetwork[]
}

/**
 * Finds the networks of autonomous systems. In a folder it picks the MMDB with the most of them.
 * @throws InputError when no MMDB has AS numbers
 */
export async function findAsNetworks(source: AsSource, wanted: ReadonlySet<number>): Promise<FoundAsNetworks> {
  const files = 'file' in source ? [source.file] : await mmdbsIn(source.dir)
  let best: FoundAsNetworks | undefined
  for (const file of files) {
    const networks = await read(file, wanted, 'file' in source)
    if (networks !== undefined && networks.length > (best?.networks.length ?? -1)) best = { file, networks }
  }
  if (best !== undefined) return best
  const where = 'file' in source ? `${source.file} has none` : `no MMDB in ${source.dir} has any`
  throw new InputError(`rows for AS numbers need an MMDB with AS numbers: ${where}; name one with --asn FILE.mmdb`)
}

async function mmdbsIn(dir: string): Promise<string[]> {
  const files = await readdir(dir)
  return files.filter((file) => /^[^.].*\.mmdb$/i.test(file)).map((file) => join(dir, file))
}

/** Skips a file of a folder that cannot be read, as the server does. */
async function read(file: string, wanted: ReadonlySet<number>, isRequired: boolean): Promise<AsNetwork[] | undefined> {
  try {
    return await asNetworksIn(await readFile(file), await readMapping(file), wanted)
  } catch (error) {
    if (!isRequired) return undefined
    const { code, message } = error as NodeJS.ErrnoException
    throw new InputError(`${file}: ${code === 'ENOENT' ? 'the file does not exist' : message}`)
  }
}

/** A network and the AS that announces it. */
interface AsNetwork {
  readonly range: AddressRange
  readonly asn: number
}

/**
 * Walks the whole tree of an MMDB for networks of autonomous systems.
 * @param mapping text of the MMDB's mapping file
 * @returns undefined when no record of the file has an AS number
 * @throws InputError when the file cannot be read
 */
async function asNetworksIn(
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
