import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { type AsNetwork, asNetworksIn } from '../../providers/mmdb/as-networks.ts'
import { readMapping } from '../data-file.ts'

/** Where the networks of autonomous systems are taken from: one MMDB, or the best of a folder. */
export type AsSource = { readonly file: string } | { readonly dir: string }

/** The networks, and the file that knows them. */
export interface FoundAsNetworks {
  readonly file: string
  readonly networks: readonly AsNetwork[]
}

/**
 * Finds the networks of autonomous systems. Of a folder the MMDB counts that knows most of them.
 * @throws InputError when nobody knows AS numbers
 */
export async function findAsNetworks(source: AsSource, wanted: ReadonlySet<number>): Promise<FoundAsNetworks> {
  const files = 'file' in source ? [source.file] : await mmdbsIn(source.dir)
  let best: FoundAsNetworks | undefined
  for (const file of files) {
    const networks = await read(file, wanted, 'file' in source)
    if (networks !== undefined && networks.length > (best?.networks.length ?? -1)) best = { file, networks }
  }
  if (best !== undefined) return best
  const where = 'file' in source ? source.file : `no MMDB in ${source.dir}`
  throw new InputError(
    `rows for AS numbers need an MMDB that knows them: ${where} does not; name one with --asn FILE.mmdb`,
  )
}

async function mmdbsIn(dir: string): Promise<string[]> {
  const files = await readdir(dir)
  return files.filter((file) => /^[^.].*\.mmdb$/i.test(file)).map((file) => join(dir, file))
}

/** A file of a folder that cannot be read is passed over, as the server does. */
async function read(file: string, wanted: ReadonlySet<number>, isDemanded: boolean): Promise<AsNetwork[] | undefined> {
  try {
    return await asNetworksIn(await readFile(file), await readMapping(file), wanted)
  } catch (error) {
    if (!isDemanded) return undefined
    const { code, message } = error as NodeJS.ErrnoException
    throw new InputError(`${file}: ${code === 'ENOENT' ? 'there is no such file' : message}`)
  }
}
