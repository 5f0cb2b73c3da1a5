import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Releases } from './releases.ts'

const run = promisify(execFile)

/**
 * Checks a revision out into a temporary folder, with the packages of this checkout.
 * @returns the folder, which `releases` deletes
 * @throws Error when the revision does not exist
 */
export async function checkOut(root: string, revision: string, releases: Releases): Promise<string> {
  const git = (...args: string[]) => run('git', ['-C', root, ...args])
  const commit = (await git('rev-parse', '--verify', `${revision}^{commit}`)).stdout.trim()
  const home = await realpath(await mkdtemp(join(tmpdir(), 'ipid-bench-base-')))
  const dir = join(home, 'checkout')
  releases.add(async () => {
    await git('worktree', 'remove', '--force', dir).catch(() => {})
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
    await git('worktree', 'prune')
  })
  await git('worktree', 'add', '--detach', dir, commit)
  await linkPackages(join(root, 'node_modules'), join(dir, 'node_modules'))
  return dir
}

/** Links each package separately, so that caches in node_modules belong to the checkout and are deleted with it. */
export async function linkPackages(from: string, to: string): Promise<void> {
  await mkdir(to)
  const names = (await readdir(from)).filter((name) => name !== '.cache')
  await Promise.all(names.map((name) => symlink(join(from, name), join(to, name))))
}
