import fs from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The newest builds are kept, because a running process may still load modules of the build that it started with. */
const KEPT = 8

/** npm writes this file after the last package, so it marks a complete installation. Relative to the root. */
export const TREE_FILE = join('node_modules', '.package-lock.json')
const ALWAYS = ['package.json', 'tsconfig.json', TREE_FILE, 'src/bootstrap/build.mjs']

/** In parts: the program contains this module too, and its own build would replace the text here. */
const OWN_URL = ['import', 'meta', 'url'].join('.')

/** Makes `import.meta.url` the URL of the source, so that a module in the build finds the files next to its source. */
const sourceUrls = {
  name: 'source-urls',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.(?:ts|mjs)$/ }, ({ path }) => {
      const text = fs.readFileSync(path, 'utf8')
      if (!text.includes(OWN_URL) || path.includes('/node_modules/')) return undefined
      const url = JSON.stringify(String(pathToFileURL(path)))
      return { contents: text.replaceAll(OWN_URL, url), loader: path.endsWith('.ts') ? 'ts' : 'js' }
    })
  },
}

/** Marks what makes schemas as without effect, so that pages take the constants beside them and leave out schemas that they do not use. */
const unusedSchemas = {
  name: 'unused-schemas',
  setup(build) {
    build.onLoad({ filter: /\/schemas\/.*\.ts$/ }, ({ path }) => {
      const text = fs.readFileSync(path, 'utf8')
      return { contents: text.replace(/(?<![\w.])(?=Type\.[A-Z]\w*\()/g, '/* @__PURE__ */ '), loader: 'ts' }
    })
  },
}

/** Options of the bundles that Node.js runs. */
const SERVER = {
  outbase: 'src',
  outExtension: { '.js': '.mjs' },
  platform: 'node',
  target: 'node20',
  // For `node --enable-source-maps`.
  sourcemap: 'linked',
  sourcesContent: false,
  // Native packages, rarely loaded ones, and packages with data files next to their modules.
  external: ['chdb', 'ffi-rs', '@aws-sdk/*', 'esbuild', 'tsx', 'pino*', 'typescript'],
  // CommonJS packages need `require` for modules of Node.js.
  banner: { js: `import{createRequire as ipidRequire}from'node:module';const require=ipidRequire(${OWN_URL});` },
  plugins: [sourceUrls],
}

/** The bundles, each in its own folder: options of esbuild, with paths relative to the root. */
const TARGETS = {
  program: { ...SERVER, entryPoints: ['src/main.ts'] },
  // Apart, because commands share modules with them: as one bundle they would load 200 files each, in twice the CPU time.
  child: { ...SERVER, entryPoints: ['src/child.ts'] },
  pages: {
    entryPoints: ['src/dashboard/pages/main.tsx'],
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file' },
    alias: { typebox: './src/dashboard/pages/lib/typebox.ts' },
    plugins: [unusedSchemas],
    minify: true,
    target: 'es2022',
    tsconfig: 'src/dashboard/pages/tsconfig.json',
  },
  // For `paths` of tsconfig.json: tests run the sources, and 373 modules of TypeBox take each process 1.2 s of CPU.
  typebox: { entryPoints: { index: 'node_modules/typebox/build/index.mjs' } },
}

/**
 * Imports an entry point from the build. Compiling its 450 modules with tsx would take a second of CPU.
 * @param {keyof typeof TARGETS} target the bundle
 * @param {string} entry relative to src
 */
export async function importBuilt(target, entry) {
  module.enableCompileCache?.()
  return await import(String(pathToFileURL(join(await built(), target, entry.replace(/\.ts$/, '.mjs')))))
}

/** Imports a module of src with tsx, for modules outside of the build that share modules with it. */
export async function importSource(entry) {
  const { register } = await import('tsx/esm/api')
  register()
  return await import(String(pathToFileURL(join(ROOT, 'src', entry))))
}

/**
 * Builds all bundles with esbuild if a source has changed since the last build. Several processes may build at once: each builds
 * into its own folder, and then moves the link `current` to it.
 * @returns the folder of the build; a temporary folder of this process if node_modules is not writable
 * @throws the error of esbuild for a source or package that it cannot compile
 */
export async function built({ root = ROOT, targets = TARGETS } = {}) {
  const home = join(root, 'node_modules', '.cache', 'ipid', 'build')
  const current = join(home, 'current')
  const last = readJson(join(current, 'inputs.json'))
  if (last !== undefined && last.root === root && isUnchanged(root, last)) {
    return join(home, fs.readlinkSync(current))
  }
  // Packages may have been installed just now.
  await untilOld(newestOf(root, ALWAYS))
  const startedMs = Date.now()
  const dir = makeFolder(home, root)
  try {
    const inputs = await buildInto(dir, root, targets)
    const newest = newestOf(root, inputs)
    // A source that changed since the build began may have been read before the change: build again.
    if (newest + SAME_WITHIN_MS > startedMs && newest <= Date.now()) {
      fs.rmSync(dir, { recursive: true, force: true })
      await untilOld(newest)
      return await built({ root, targets })
    }
    fs.writeFileSync(join(dir, 'inputs.json'), JSON.stringify({ root, inputs, ...stateOf(root, inputs) }))
    // Container images are built and run by different users.
    fs.chmodSync(dir, 0o755)
  } catch (error) {
    fs.rmSync(dir, { recursive: true, force: true })
    throw error
  }
  if (dirname(dir) === home) makeCurrent(home, dir)
  return dir
}

function makeFolder(home, root) {
  try {
    fs.mkdirSync(home, { recursive: true })
    return fs.mkdtempSync(join(home, 'build-'))
  } catch {
    const dir = fs.mkdtempSync(join(tmpdir(), 'ipid-build-'))
    process.once('exit', () => fs.rmSync(dir, { recursive: true, force: true }))
    fs.symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
    process.stderr.write(
      `ipid: node_modules/.cache is not writable, so each start compiles the program: run "ipid compile"\n`,
    )
    return dir
  }
}

let running = 0

async function buildInto(dir, root, targets) {
  const { build, stop } = await import('esbuild')
  const shared = {
    bundle: true,
    splitting: true,
    format: 'esm',
    metafile: true,
    logLevel: 'silent',
    absWorkingDir: root,
  }
  running++
  try {
    const results = await Promise.all(
      Object.entries(targets).map(([name, options]) => build({ ...shared, ...options, outdir: join(dir, name) })),
    )
    for (const name of Object.keys(targets)) {
      fs.writeFileSync(join(dir, name, 'package.json'), '{"type":"module","main":"index.js"}\n')
    }
    const read = results.flatMap(({ metafile }) => Object.keys(metafile.inputs))
    return [...new Set([...read.filter((path) => !path.includes('node_modules/')), ...ALWAYS])]
  } finally {
    // Otherwise esbuild's process would live as long as this one.
    if (--running === 0) await stop()
  }
}

/** Moves the link `current`, and deletes old builds and those of killed processes. */
function makeCurrent(home, dir) {
  const link = `${dir}.link`
  fs.symlinkSync(dir.slice(home.length + 1), link)
  fs.renameSync(link, join(home, 'current'))
  const ageOf = (path) => fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const builds = fs.readdirSync(home).filter((name) => name.startsWith('build-') && fs.existsSync(join(home, name)))
  builds.sort((a, b) => ageOf(join(home, b)) - ageOf(join(home, a)))
  for (const name of builds.slice(KEPT)) fs.rmSync(join(home, name), { recursive: true, force: true })
}

/** Paths are joined by hand because every start looks at a thousand files, and `join` takes longer than the system call. */
const fileOf = (root, path) => fs.statSync(`${root}/${path}`, { throwIfNoEntry: false })

/** Copies and layers of container images round times to whole seconds, up or down, so a source that changes gets a time further away. */
const SAME_WITHIN_MS = 1_000

/** Sizes and times of all sources; -1: there is no file. */
function stateOf(root, inputs) {
  const files = inputs.map((path) => fileOf(root, path))
  return { sizes: files.map((file) => file?.size ?? -1), timesMs: files.map((file) => file?.mtimeMs ?? -1) }
}

function isUnchanged(root, { inputs, sizes, timesMs }) {
  // Builds of earlier versions have no times.
  if (timesMs === undefined) return false
  return inputs.every((path, i) => {
    const file = fileOf(root, path)
    if (file === undefined) return sizes[i] === -1
    return file.size === sizes[i] && Math.abs(file.mtimeMs - timesMs[i]) < SAME_WITHIN_MS
  })
}

const newestOf = (root, inputs) => Math.max(...inputs.map((path) => fileOf(root, path)?.mtimeMs ?? 0))

/** Waits until a change of a source with this time would get another one. A time in the future is none of this machine's clock. */
async function untilOld(timeMs) {
  const leftMs = timeMs + SAME_WITHIN_MS - Date.now()
  if (leftMs > 0 && leftMs <= SAME_WITHIN_MS) await sleep(leftMs)
}

function readJson(path) {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
