import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildOnce } from './build.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Puts TypeBox into one file, in the folder where `paths` of tsconfig.json look for it: 373 modules, each of which goes through
 * the hook for TypeScript, are 1.2 s of CPU at the start of every process. The compiler does not take a folder for a
 * module, and reads the package's own types. Without the folder all is the same, and slower.
 */
export async function bundlePackages({ root = ROOT } = {}) {
  try {
    const packageDir = join(root, 'node_modules', 'typebox')
    const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'))
    const dir = join(root, 'node_modules', '.cache', 'ipid', 'typebox')
    const path = join(dir, 'index.js')
    const head = `/* typebox ${version} */\n`
    if (readIfThere(path)?.startsWith(head)) return
    const entry = join(packageDir, 'build', 'index.mjs')
    const { outputFiles } = await buildOnce({ entryPoints: [entry], bundle: true, format: 'esm', write: false })
    mkdirSync(dir, { recursive: true })
    replace(join(dir, 'package.json'), '{"type":"module","main":"index.js"}\n')
    replace(path, head + outputFiles[0].text)
  } catch {
    // A folder that cannot be written to: nothing is lost but time.
  }
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Others may be reading it, or writing the same. */
function replace(path, text) {
  const part = `${path}.${process.pid}.part`
  writeFileSync(part, text)
  renameSync(part, path)
}
