import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

interface Entry {
  version?: string
  resolved?: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const packages = JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8'))
  .packages as Record<string, Entry>

/** Finds a package the way Node.js does: in the nearest `node_modules` of the folders above. */
function found(from: string, name: string): Entry | undefined {
  const entry = packages[join(from, 'node_modules', name)]
  if (entry !== undefined || from === '') return entry
  return found(from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name)
}

test('the lock file has every needed package, for all platforms, so that npm ci accepts it', () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => found(path, name)?.version === undefined)
      .map((name) => `${name} of ${path || 'package.json'}`),
  )
  assert.deepEqual(missing, [])
})

test('the lock file names no registry: users have their own', () => {
  assert.deepEqual(
    Object.entries(packages)
      .filter(([, { resolved }]) => resolved !== undefined)
      .map(([path]) => path),
    [],
  )
})
