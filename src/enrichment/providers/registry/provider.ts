import type { Facts } from '../../facts.ts'
import { makeFacts } from '../../facts.ts'
import type { Provider } from '../provider.ts'
import { RangeFileProvider } from '../ranges/provider.ts'
import { openRangeFile } from '../ranges/range-file.ts'

/** `databaseType` of the range files that `files/build/registry-writer.ts` writes. */
export const REGISTRY_TYPE = 'ipid registry'

/** The content of a block's record: its holder, or the word that marks it as a provider's own. */
export interface BlockRecord {
  readonly name?: string | undefined
  readonly purpose?: string | undefined
}

interface RegistryOptions {
  readonly name: string
  /** A range file. The provider keeps the buffer. */
  readonly bytes: Buffer
  /** Cached decoded records, in bytes of memory. */
  readonly recordsBytesMax: number
  readonly warnings: readonly string[]
}

/** The customers in a registry's blocks. @throws InputError when the range file is damaged */
export function registryProvider({ warnings, ...options }: RegistryOptions): Provider {
  const about = { kind: 'registry', recognisedAs: 'RPSL blocks', warnings } as const
  const file = openRangeFile(options.bytes)
  return new RangeFileProvider(options, file, about, (record) => factsOf(file.decode(record)))
}

/** A file with organisations only. They name the holders of the blocks in other files. */
export function organisationsProvider(name: string, records: number, builtAt: Date | undefined): Provider {
  return {
    ...{ name, kind: 'registry', recognisedAs: 'RPSL organisations', builtAt, records, warnings: [] },
    find: () => undefined,
    networkOf: () => undefined,
  }
}

/** The country of a block is that of its administrator, so it is not used for the addresses. */
function factsOf(record: unknown): Facts {
  const { name, purpose } = record as BlockRecord
  if (name === undefined) return makeFacts({}, { allocation: purpose! })
  return makeFacts({ business_name: name, org_name: name }, { orgName: name }, { name, domain: undefined })
}
