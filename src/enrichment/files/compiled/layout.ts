import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Shape } from '../../providers/mmdb/recognise.ts'
import { isRegistryFile, organisationPathsOf } from '../../providers/registry/files.ts'

/** Increase it when the compiled form of a table changes. */
const COMPILER_VERSION = 4

/** Tables from this size on are compiled by a process that does not serve. Smaller ones load in an instant. */
const BIG_BYTES = 4 * 1024 * 1024
/** The same limit for gzip, which can expand a thousandfold. */
const BIG_GZIP_BYTES = BIG_BYTES / 1024

/** Files in the folder of a compiled table. */
export const ABOUT_FILE = 'about.json'
export const NETWORKS_FILE = 'networks.mmdb'
export const SYSTEMS_FILE = 'systems.ndjson'
export const BLOCKS_FILE = 'blocks.ranges'

/** The result of a compilation. */
export type About =
  /** The table is invalid. */
  | { readonly reason: string }
  /** The file is not a table, and is loaded directly. */
  | { readonly direct: true }
  | {
      readonly rows: number
      readonly unknownColumns: readonly string[]
      /** Whether there are rows about addresses. */
      readonly networks: boolean
    }
  /** A vendor's table. */
  | { readonly rows: number; readonly shape: Shape }
  /** A registry's file. */
  | {
      readonly objects: number
      /** Whether there are blocks of addresses. */
      readonly blocks: boolean
      /** Milliseconds since the Unix epoch; null when unknown. */
      readonly builtAtMs: number | null
      readonly warnings: readonly string[]
    }

export function isBigTable(path: string, sizeBytes: number): boolean {
  if (!/\.(?:csv|ndjson|tsv)(?:\.gz)?$/i.test(path) && !isRegistryFile(path)) return false
  return sizeBytes >= (/\.gz$/i.test(path) ? BIG_GZIP_BYTES : BIG_BYTES)
}

/** The folder of this version of a table; undefined when the table is gone. */
export async function compiledFolder(dir: string, path: string): Promise<string | undefined> {
  const [stats, ...companions] = await Promise.all([path, ...organisationPathsOf(path)].map(statFile))
  return stats === undefined ? undefined : join(dir, nameOf(path, [stats, ...companions]))
}

async function statFile(path: string): Promise<BigIntStats | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined)
  return stats?.isFile() === true ? stats : undefined
}

function nameOf(path: string, files: readonly (BigIntStats | undefined)[]): string {
  const stats = files.flatMap((file) => (file === undefined ? [] : [file.ino, file.size, file.mtimeNs, file.ctimeNs]))
  const version = [COMPILER_VERSION, path, ...stats].join('\n')
  return createHash('sha256').update(version).digest('hex').slice(0, 32)
}
