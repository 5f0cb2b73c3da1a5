#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

// `ipid doctor` says when Node.js is out of support; the library's notice would be in every log.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'

const args = process.argv.slice(2)
// A user's own role module (`ipid role MODULE`) imports modules of src, so both must be loaded from the sources.
const isOwnRole = args[0] === 'role' && args.length > 1
const isChild = args[0] === 'role' && args.length === 1 && process.send !== undefined
if (args.length === 1 && args[0] === '--version') {
  // Without packages or a build: scripts that install and update ask for it.
  process.stdout.write(`${JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version}\n`)
} else {
  const program = await load()
  await program?.main(args)
}

/** The program, or undefined after a message when this machine or its packages are not enough. */
async function load() {
  const { unmetRequirement } = await import('./bootstrap/requirements.mjs')
  const unmet = unmetRequirement()
  if (unmet !== undefined) return fail(unmet)
  const { importBuilt, importSource, TREE_FILE } = await import('./bootstrap/build.mjs')
  if (!existsSync(join(ROOT, TREE_FILE))) return failWithoutPackages()
  try {
    if (isOwnRole) return await importSource('main.ts')
    return await (isChild ? importBuilt('child', 'child.ts') : importBuilt('program', 'main.ts'))
  } catch (error) {
    // Checks the packages only after a failure: a missing one makes the import or the build fail.
    const { isInstalled } = await import('./bootstrap/packages.mjs')
    if (isInstalled(ROOT, false)) throw error
    return failWithoutPackages()
  }
}

function failWithoutPackages() {
  const remedy = args[0] === 'doctor' ? 'run "npm run doctor"' : 'run "npm start" once'
  fail(`its packages are not installed: ${remedy} in ${ROOT}`)
}

function fail(reason) {
  process.stderr.write(`ipid: ${reason}\n`)
  process.exitCode = 1
}
