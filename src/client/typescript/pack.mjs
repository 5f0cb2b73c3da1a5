/*
 * Builds the package of the client: `node src/client/typescript/pack.mjs [--out DIR]` writes ipid-client-VERSION.tgz into DIR (default: the
 * current folder), and prints its path.
 */

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ensurePackages } from '../../bootstrap/packages.mjs'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const TSC = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url))

const { values } = parseArgs({ options: { out: { type: 'string', default: '.' } } })
const out = resolve(values.out)

// The compiler is one of the development dependencies.
await ensurePackages({ withDev: true })
const dir = mkdtempSync(join(tmpdir(), 'ipid-client-'))
try {
  execFileSync(TSC, ['-p', HERE, '--outDir', join(dir, 'dist')], { stdio: ['ignore', 'inherit', 'inherit'] })
  // The compiler changes the endings of imports in JavaScript only.
  for (const name of readdirSync(join(dir, 'dist')).filter((name) => name.endsWith('.d.ts'))) {
    const path = join(dir, 'dist', name)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(?<= from '\.\/[\w-]+)\.ts(?=')/g, '.js'))
  }
  for (const name of ['package.json', 'README.md']) copyFileSync(join(HERE, name), join(dir, name))
  mkdirSync(out, { recursive: true })
  const printed = execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: dir, encoding: 'utf8' })
  process.stdout.write(`${join(out, printed.trim())}\n`)
} finally {
  rmSync(dir, { recursive: true, force: true })
}
