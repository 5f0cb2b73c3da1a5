import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { version } from '../../src/config/version.ts'
import type { Checkout } from '../support/machine.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** A checkout of ipid that can be started. */
export interface Version extends Checkout {
  readonly name: string
}

export const THIS_VERSION: Version = { name: version(), root: ROOT }

/** The last version of CHANGELOG.md that has a commit, with its packages; or why it is not to be had. Both stay in a cache. */
export async function lastRelease(): Promise<Version | string> {
  const [, name, commit] =
    /^## (\d+\.\d+\.\d+)\n\nCommit `([0-9a-f]{40})`/m.exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')) ?? []
  if (name === undefined || commit === undefined) return 'CHANGELOG.md names no commit of a release'
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ipid', 'released')
  const root = join(cache, `${name}-${commit.slice(0, 12)}`)
  if (existsSync(join(root, COMPLETE))) return { name, root }
  const part = `${root}.${process.pid}.part`
  try {
    await run('git', ['-C', ROOT, 'cat-file', '-e', `${commit}^{commit}`])
  } catch {
    return `this checkout has no history with the commit of ${name}`
  }
  try {
    await mkdir(cache, { recursive: true })
    await run('git', ['clone', '--quiet', '--no-checkout', ROOT, part])
    await run('git', ['-C', part, 'checkout', '--quiet', commit])
    // The settings of an enclosing npm are those of this checkout.
    const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('npm_')))
    await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: part, env })
    writeFileSync(join(part, COMPLETE), '')
    await rm(root, { recursive: true, force: true })
    await rename(part, root)
    return { name, root }
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    return `the packages of ${name} cannot be installed: ${(error as Error).message.split('\n', 1)[0]}`
  }
}

/** Marks a checkout whose packages are all installed. */
const COMPLETE = '.complete'
