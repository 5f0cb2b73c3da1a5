import { cp, mkdtemp, readdir, readlink, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linkPackages } from '../../bench/run/checkout.ts'
import type { Releases } from '../../bench/run/releases.ts'

/** TypeBox in one file, for tests: see bootstrap/build.mjs. */
const BUILDS = join('node_modules', '.cache', 'ipid', 'build')

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
  const build = await readlink(join(root, BUILDS, 'current'))
  await cp(join(root, BUILDS, build, 'typebox'), join(dir, BUILDS, build, 'typebox'), { recursive: true })
  await symlink(build, join(dir, BUILDS, 'current'))
  return dir
}
