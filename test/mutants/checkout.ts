import { cp, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linkPackages } from '../../bench/run/checkout.ts'
import type { Releases } from '../../bench/run/releases.ts'

/** Folders and files that are no sources. */
const LEFT_OUT = new Set(['node_modules', '.git', 'data', '.env'])

/**
 * Copies a checkout with its current changes into a temporary folder, with the packages of the original.
 * @returns the folder; the releases remove it
 */
export async function copyOf(root: string, releases: Releases): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'ipid-mutants-')))
  releases.add(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const names = (await readdir(root)).filter((name) => !LEFT_OUT.has(name))
  for (const name of names) await cp(join(root, name), join(dir, name), { recursive: true })
  await linkPackages(join(root, 'node_modules'), join(dir, 'node_modules'))
  return dir
}
