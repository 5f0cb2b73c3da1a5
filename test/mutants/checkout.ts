import { cp, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linkPackages } from '../../bench/run/checkout.ts'
import type { Releases } from '../../bench/run/releases.ts'

/** Packages that are bundled for tests, see bootstrap/bundle.mjs. */
const BUNDLED = join('node_modules', '.cache', 'ipid', 'typebox')

/** What is no part of the sources. */
const LEFT_OUT = new Set(['node_modules', '.git', 'data', '.env'])

/**
 * Copies a checkout as it stands into a temporary folder, with the packages of the original.
 * @returns the folder; it goes with the releases
 */
export async function copyOf(root: string, releases: Releases): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'ipid-mutants-')))
  releases.add(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const names = (await readdir(root)).filter((name) => !LEFT_OUT.has(name))
  for (const name of names) await cp(join(root, name), join(dir, name), { recursive: true })
  await linkPackages(join(root, 'node_modules'), join(dir, 'node_modules'))
  await cp(join(root, BUNDLED), join(dir, BUNDLED), { recursive: true })
  return dir
}
