import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Modules of src that processes begin with. */
const ENTRIES = ['main.ts', 'embedded/clickhouse/process.ts']

/** Native, or loaded by few, or looking for files beside themselves. */
const PACKAGES_APART = ['uWebSockets.js', 'chdb', '@aws-sdk/*', 'esbuild', 'tsx', 'pino', 'pino-pretty', 'typescript']

/** A running process may still load parts of what was compiled when it started. */
const KEPT = 8

/**
 * Imports a module of src, compiled: 450 modules and their packages through the hook for TypeScript are a second of CPU at
 * the start of every process. Where it cannot be compiled (a folder that cannot be written to) it goes through the hook.
 * @param {string} entry one of `ENTRIES`
 */
export async function importSource(entry) {
  module.enableCompileCache?.()
  const dir = await compiledProgram()
  if (dir !== undefined) return await import(String(pathToFileURL(join(dir, entry.replace(/\.ts$/, '.mjs')))))
  return await importUncompiled(entry)
}

/** The same, by the hook for TypeScript: for what shares modules of src with modules elsewhere. */
export async function importUncompiled(entry) {
  const { register } = await import('tsx/esm/api')
  register()
  return await import(String(pathToFileURL(join(ROOT, 'src', entry))))
}

/**
 * Compiles the program unless that was done for the sources as they are.
 * @returns its folder; undefined when it cannot be compiled here
 */
export async function compiledProgram({ root = ROOT, entries = ENTRIES } = {}) {
  try {
    // Sources may share their packages with a second checkout.
    const home = join(root, 'node_modules', '.cache', 'ipid', 'program', digest(resolve(root)))
    const manifestPath = join(home, 'current.json')
    const current = readManifest(manifestPath)
    if (current !== undefined && current.id === idOf(root, current.inputs)) return join(home, current.id)
    return await compile({ root, home, manifestPath, entries })
  } catch {
    return undefined
  }
}

async function compile({ root, home, manifestPath, entries }) {
  const startedMs = Date.now()
  mkdirSync(home, { recursive: true })
  const part = mkdtempSync(join(home, 'part-'))
  try {
    const { build } = await import('esbuild')
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: entries.map((entry) => join('src', entry)),
      outbase: 'src',
      outdir: part,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      keepNames: true,
      // For `node --enable-source-maps`.
      sourcemap: 'linked',
      sourcesContent: false,
      external: PACKAGES_APART,
      // Packages in CommonJS ask for modules of Node by it.
      banner: {
        js: `import{createRequire as ipidRequire}from'node:module';const require=ipidRequire(import.meta.url);`,
      },
      plugins: [ownAddress],
      metafile: true,
      logLevel: 'silent',
    })
    const inputs = Object.keys(metafile.inputs).filter((path) => !path.includes('node_modules/'))
    inputs.push('tsconfig.json', 'package.json', 'src/bootstrap/program.mjs', 'node_modules/.package-lock.json')
    const id = idOf(root, inputs)
    const dir = join(home, id)
    try {
      renameSync(part, dir)
    } catch (error) {
      // Another process was faster.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    }
    // What was changed meanwhile was perhaps read before.
    if (inputs.every((path) => mtimeMs(join(root, path)) < startedMs)) {
      const next = `${part}.json`
      writeFileSync(next, JSON.stringify({ id, inputs }))
      renameSync(next, manifestPath)
      removeOld(home, id)
    }
    return dir
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

/** A module finds its files beside its source, wherever it was compiled to. */
const ownAddress = {
  name: 'own-address',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url')) return undefined
      return { contents: text.replaceAll('import.meta.url', JSON.stringify(String(pathToFileURL(path)))), loader: 'ts' }
    })
  },
}

/** Names the state of all sources. */
function idOf(root, inputs) {
  const states = inputs.map((path) => {
    const stat = statSync(join(root, path), { throwIfNoEntry: false })
    return `${path} ${stat?.mtimeMs} ${stat?.size}`
  })
  return digest(states.join('\n'))
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function mtimeMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function readManifest(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function removeOld(home, id) {
  const others = readdirSync(home).filter((name) => /^[0-9a-f]{16}$/.test(name) && name !== id)
  others.sort((a, b) => mtimeMs(join(home, b)) - mtimeMs(join(home, a)))
  for (const name of others.slice(KEPT)) rmSync(join(home, name), { recursive: true, force: true })
}
