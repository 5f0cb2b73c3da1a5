import { dateOf, organisationPathsOf, readRegistryFile } from '../../providers/registry/files.ts'
import { organisationsProvider, registryProvider } from '../../providers/registry/provider.ts'
import { writeRegistry } from '../build/registry-writer.ts'
import { type DataFormat, openCompiled } from './format.ts'

const BLOCKS_FILE = 'blocks.ranges'

interface About {
  readonly objects: number
  /** Whether there are blocks of addresses. */
  readonly blocks: boolean
  /** Milliseconds since the Unix epoch; null when unknown. */
  readonly builtAtMs: number | null
  readonly warnings: readonly string[]
}

/** The database of a regional registry, whole or split by type: `ripe.db.inetnum.gz`, `afrinic.db.gz`, `extract.rpsl`. */
export const registry: DataFormat<About> = {
  name: 'registry',
  // The type of a split file stays in the provider's name: `ripe.db.inetnum`.
  ending: /(?:(?<=\.db\.(?:inetnum|inet6num|organisation))|\.(?:db|rpsl))(?:\.gz)?$/i,
  companionsOf: organisationPathsOf,
  async load({ path, name, limits }) {
    const { parts, objects, builtAt, warnings } = await writeRegistry(path, limits)
    if (parts === undefined) return organisationsProvider(name, objects, builtAt)
    return registryProvider({ name, bytes: Buffer.concat(parts), recordsBytesMax: limits.recordsBytesMax, warnings })
  },
  /** Only reads the objects: their compilation takes minutes. */
  async summarise(path) {
    let [blocks, organisations, newest] = [0, 0, '']
    await readRegistryFile(path, ({ type, lastModified }) => {
      if (type === 'organisation') organisations++
      else blocks++
      if (lastModified > newest) newest = lastModified
    })
    const recognisedAs = blocks > 0 ? 'RPSL blocks' : 'RPSL organisations'
    return { recognisedAs, records: blocks || organisations, builtAt: dateOf(newest) }
  },
  compiled: {
    async write(path, limits, write) {
      const { parts, objects, builtAt, warnings } = await writeRegistry(path, limits)
      if (parts !== undefined) await write(BLOCKS_FILE, parts)
      return { objects, blocks: parts !== undefined, builtAtMs: builtAt?.getTime() ?? null, warnings }
    },
    async load(folder, { blocks, objects, builtAtMs, warnings }, { name, limits: { recordsBytesMax } }) {
      if (!blocks) return organisationsProvider(name, objects, builtAtMs === null ? undefined : new Date(builtAtMs))
      return await openCompiled(folder, BLOCKS_FILE, (bytes) =>
        registryProvider({ name, bytes, recordsBytesMax, warnings }),
      )
    },
  },
}
