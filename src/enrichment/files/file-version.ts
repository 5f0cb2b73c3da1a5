import type { BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { mappingPathOf } from './data-file.ts'

export interface Version {
  readonly signature: string
  readonly sizeBytes: number
}

/** Stands for the content of a file and of the mapping beside it. Undefined when the file is gone, or is none. */
export async function versionOf(path: string): Promise<Version | undefined> {
  const mappingPath = mappingPathOf(path)
  const [stats, mapping] = await Promise.all([
    statFile(path),
    mappingPath === undefined ? undefined : statFile(mappingPath),
  ])
  if (stats === undefined) return undefined
  const signature = mapping === undefined ? signatureOf(stats) : `${signatureOf(stats)} ${signatureOf(mapping)}`
  return { signature, sizeBytes: Number(stats.size) }
}

async function statFile(path: string): Promise<BigIntStats | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined)
  return stats?.isFile() === true ? stats : undefined
}

function signatureOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}
