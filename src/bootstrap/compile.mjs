import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { buildOnce } from './build.mjs'

/** A running process may still load parts of what was compiled when it started. */
const KEPT = 8
const PART = 'part-'
/** Nobody works on one for so long: who did was killed. */
const PART_MS_MAX = 3_600_000

/**
 * Compiles sources with esbuild unless that was done for them as they are. Several processes may do it at once.
 * @param root of the project
 * @param name of what is compiled; a folder under node_modules/.cache/ipid
 * @param options of esbuild, but where to write to; paths are relative to `root`
 * @param alsoInputs files besides those that esbuild reads
 * @returns the folder with the output
 * @throws what esbuild or the file system says
 */
export async function compiled({ root, name, options, alsoInputs = [] }) {
  // Two checkouts may share their packages.
  const home = join(root, 'node_modules', '.cache', 'ipid', name, digest(resolve(root)))
  const manifestPath = join(home, 'current.json')
  const current = readManifest(manifestPath)
  if (current !== undefined && current.id === idOf(root, current.inputs)) return join(home, current.id)
  const startedMs = Date.now()
  let inputs
  const dir = await keptFolder(home, async (part) => {
    const result = await buildOnce({
      ...options,
      absWorkingDir: root,
      outdir: part,
      metafile: true,
      logLevel: 'silent',
    })
    const read = Object.keys(result.metafile.inputs).filter((path) => !path.includes('node_modules/'))
    inputs = [...read, ...ALWAYS, ...alsoInputs]
    return idOf(root, inputs)
  })
  // What was changed meanwhile, in this second or later, was perhaps read before.
  if (inputs.every((path) => seconds(mtimeMs(join(root, path))) < seconds(startedMs))) {
    const next = join(home, `next-${process.pid}.json`)
    writeFileSync(next, JSON.stringify({ id: basename(dir), inputs }))
    renameSync(next, manifestPath)
  }
  return dir
}

/**
 * Makes a folder that is kept under a name. Several processes may make it at once; the first to finish is kept, and so are the
 * newest of other names.
 * @param home where such folders are
 * @param make puts everything into a folder that it is given, and returns its name, as `digest` makes it
 * @returns the folder
 * @throws what `make` or the file system says
 */
export async function keptFolder(home, make) {
  mkdirSync(home, { recursive: true })
  const part = mkdtempSync(join(home, PART))
  try {
    const name = await make(part)
    const dir = join(home, name)
    // It may be read by another user than the one who made it, as in an image.
    chmodSync(part, 0o755)
    try {
      renameSync(part, dir)
    } catch (error) {
      // Another process was faster.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    }
    removeOld(home, name)
    return dir
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

/**
 * What `compiled` puts into its folder, also where there can be none, as on a file system that is read-only: it is compiled in
 * memory then, each time.
 * @param onUnkept called with the reason when it was
 * @returns contents by name
 * @throws what esbuild says of the sources
 */
export async function compiledFiles(compilation, onUnkept) {
  try {
    const dir = await compiled(compilation)
    return new Map(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name))]))
  } catch (error) {
    const { root, options } = compilation
    const place = { absWorkingDir: root, outdir: 'compiled', write: false, logLevel: 'silent' }
    const { outputFiles } = await buildOnce({ ...options, ...place })
    onUnkept(error)
    return new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]))
  }
}

const ALWAYS = [
  'package.json',
  'tsconfig.json',
  'node_modules/.package-lock.json',
  'src/bootstrap/build.mjs',
  'src/bootstrap/compile.mjs',
  'src/bootstrap/program.mjs',
]

/** Names the state of all sources. */
function idOf(root, inputs) {
  const states = inputs.map((path) => {
    const stat = statSync(join(root, path), { throwIfNoEntry: false })
    // Images of containers keep whole seconds.
    return `${path} ${stat && seconds(stat.mtimeMs)} ${stat?.size}`
  })
  return digest(states.join('\n'))
}

function seconds(ms) {
  return Math.floor(ms / 1_000)
}

/** A name for what a text stands for. */
export function digest(text) {
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
  const left = readdirSync(home).filter(
    (name) => name.startsWith(PART) && Date.now() - mtimeMs(join(home, name)) > PART_MS_MAX,
  )
  for (const name of [...others.slice(KEPT), ...left]) rmSync(join(home, name), { recursive: true, force: true })
}
