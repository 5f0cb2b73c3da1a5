import { readFileSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compiled } from './compile.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Modules of src that processes begin with. */
const ENTRIES = ['main.ts', 'embedded/clickhouse/process.ts']

/** Native, or loaded by few, or looking for files beside themselves. */
const PACKAGES_APART = [
  'uWebSockets.js',
  'chdb',
  'lz4-napi',
  '@aws-sdk/*',
  'esbuild',
  'tsx',
  'pino',
  'pino-pretty',
  'typescript',
]

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
 * @returns its folder; undefined when the folder for it cannot be written to
 * @throws what esbuild says of sources or packages that it cannot compile: without this, every start would be four times slower unnoticed
 */
export async function compiledProgram({ root = ROOT, entries = ENTRIES } = {}) {
  try {
    return await compiled({ root, name: 'program', options: { ...OPTIONS, entryPoints: entries.map(inSrc) } })
  } catch (error) {
    if (error.errors !== undefined) throw error
    return undefined
  }
}

const inSrc = (path) => join('src', path)

/** A module finds its files beside its source, wherever it was compiled to. */
const ownAddress = {
  name: 'own-address',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.(?:ts|mjs)$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url') || path.includes('/node_modules/')) return undefined
      const address = JSON.stringify(String(pathToFileURL(path)))
      return { contents: text.replaceAll('import.meta.url', address), loader: path.endsWith('.ts') ? 'ts' : 'js' }
    })
  },
}

const OPTIONS = {
  outbase: 'src',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // For `node --enable-source-maps`.
  sourcemap: 'linked',
  sourcesContent: false,
  external: PACKAGES_APART,
  // Packages in CommonJS ask for modules of Node by it.
  banner: { js: `import{createRequire as ipidRequire}from'node:module';const require=ipidRequire(import.meta.url);` },
  plugins: [ownAddress],
}
