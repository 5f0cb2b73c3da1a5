#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importBuilt, importSource } from './bootstrap/build.mjs'
import { isInstalled, TREE_FILE } from './bootstrap/packages.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const args = process.argv.slice(2)
// A user's own role module (`ipid role MODULE`) imports modules of src, so both must be loaded from the sources.
const isOurs = args[0] !== 'role' || args.length === 1
const program = await load()
await program?.main(args)

/** The program, or undefined after a message when its packages are missing. */
async function load() {
  if (!existsSync(join(ROOT, TREE_FILE))) return failWithoutPackages()
  try {
    return await (isOurs ? importBuilt : importSource)('main.ts')
  } catch (error) {
    // Checks the packages only after a failure: a missing one makes the import or the build fail.
    if (isInstalled(ROOT, false)) throw error
    return failWithoutPackages()
  }
}

function failWithoutPackages() {
  process.stderr.write(`ipid: its packages are not installed: run "npm start" once in ${ROOT}\n`)
  process.exitCode = 1
}
