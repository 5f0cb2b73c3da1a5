import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const INSTALL_MS = 300_000

/** The path of the first of these programs that is on PATH. */
export function onPath(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/**
 * Installs the first of these packages that there is: with apt-get, where that asks no question.
 * @throws the error of the last attempt
 */
export async function installDebian(...packages: readonly string[]): Promise<void> {
  const isRoot = process.getuid?.() === 0
  const prefix = [...(isRoot ? [] : ['sudo', '-n']), 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q']
  const apt = (...args: string[]) => run(prefix[0]!, [...prefix.slice(1), ...args], { timeout: INSTALL_MS })
  await apt('update')
  let failure: unknown
  for (const name of packages) {
    try {
      return void (await apt('install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', name))
    } catch (error) {
      failure = error
    }
  }
  throw failure
}
