import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIST = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md']

/** Every page of the repository, by its path from the root. */
export const PAGES: readonly string[] = spawnSync('git', LIST, { cwd: ROOT, encoding: 'utf8' })
  .stdout.split('\n')
  .filter((path) => path !== '' && existsSync(join(ROOT, path)))

/** @param path from the root */
export function readDocument(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
