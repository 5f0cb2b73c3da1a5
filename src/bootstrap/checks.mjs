import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BIN = join(ROOT, 'node_modules', '.bin')

/** Types, style, directions of imports and the list of mutants, each as a command and its arguments. */
const CHECKS = [
  [join(BIN, 'tsc'), ['--noEmit']],
  [join(BIN, 'tsc'), ['--noEmit', '-p', 'src/dashboard/pages']],
  [join(BIN, 'biome'), ['check', '.']],
  [process.execPath, ['--import', 'tsx', '--test', 'test/unit/imports.test.ts', 'test/unit/mutants.test.ts']],
]

/** Runs the checks, and returns the exit code of the first that fails, or 0. */
export async function runChecks() {
  for (const [command, args] of CHECKS) {
    const code = await run(command, args)
    if (code !== 0) return code
  }
  return 0
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit' })
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
