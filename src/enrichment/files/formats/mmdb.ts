import { readFile } from 'node:fs/promises'
import { loadMmdb } from '../../providers/mmdb/provider.ts'
import { bytesOf, type DataFormat } from './format.ts'

const ENDING = /\.mmdb$/i

/** An MMDB of any vendor. `providers/mmdb/recognise.ts` tells whose it is, by the members of its records. */
export const mmdb: DataFormat = {
  name: 'mmdb',
  ending: ENDING,
  companionsOf: (path) => [mappingPathOf(path)!],
  async load({ path, name, limits: { mmdbBytesMax, recordsBytesMax }, isDefault }) {
    const bytes = await bytesOf(path, mmdbBytesMax)
    return await loadMmdb({ name, bytes, mapping: await readMapping(path), recordsBytesMax, isDefault })
  },
}

/** Path of the mapping file of an MMDB; undefined for other files. */
export function mappingPathOf(path: string): string | undefined {
  return ENDING.test(path) ? `${path}.json` : undefined
}

/** Text of the mapping file of an MMDB, if any. */
export async function readMapping(path: string): Promise<string | undefined> {
  try {
    return await readFile(mappingPathOf(path)!, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
