import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartupError } from '../../run/errors.ts'
import type { CreateEngine } from './engine.ts'
import { HEAD_MAX_BYTES } from './limits.ts'
import type { UwsPackage } from './uws/engine.ts'

/** The setting's values: an engine by the name of its package or module, or `auto` for the fastest that runs here. */
export const ENGINE_CHOICES = ['auto', 'uWebSockets.js', 'node:http'] as const
export type EngineChoice = (typeof ENGINE_CHOICES)[number]

export interface ChosenEngine {
  readonly name: Exclude<EngineChoice, 'auto'>
  readonly create: CreateEngine
  /** Version of uWebSockets.js. */
  readonly version?: string
  /** Why this is not the faster engine, and what to do about it. */
  readonly note?: string
  /** Why a faster build of the same engine does not load here. */
  readonly passedOver?: string
}

/**
 * Chooses the engine.
 * @param isIdleSet whether the time of idle connections is set
 * @throws StartupError when the engine is named and cannot run here, or cannot do that
 */
export async function chooseEngine(choice: EngineChoice, isIdleSet = false): Promise<ChosenEngine> {
  if (choice === 'node:http') return await nodeHttp()
  if (isIdleSet) {
    const why = 'uWebSockets.js ends idle connections after 10 to 35 s'
    if (choice === 'auto') return { ...(await nodeHttp()), note: `HTTP_IDLE_SECONDS is set, and ${why}` }
    throw new StartupError(`${why}: unset HTTP_IDLE_SECONDS, or set HTTP_ENGINE=node:http`)
  }
  const native = findUws()
  if (typeof native !== 'string') {
    const { uwsEngine } = await import('./uws/engine.ts')
    const { uWS, version, passedOver } = native
    return { name: 'uWebSockets.js', create: uwsEngine(uWS), version, ...(passedOver !== '' && { passedOver }) }
  }
  if (choice === 'uWebSockets.js') throw new StartupError(`HTTP_ENGINE=uWebSockets.js cannot run: ${native}`)
  return { ...(await nodeHttp()), note: `${native}; src/http/engine/README.md says how to get the faster engine` }
}

async function nodeHttp() {
  const { createNodeEngine } = await import('./node/engine.ts')
  return { name: 'node:http', create: createNodeEngine } as const
}

/** Packages with builds of uWebSockets.js, the faster first: the other one also runs on glibc before 2.38, with Node.js 20. */
const PACKAGES = ['uWebSockets.js', 'uws-node-20'] as const

const requireHere = createRequire(import.meta.url)

interface LoadedUws {
  readonly uWS: UwsPackage
  /** As the package says it. */
  readonly version: string
  /** Why faster builds do not load; `''`: this is the fastest. */
  readonly passedOver: string
}

/** The first package that loads, or why none does. */
export function findUws(packages: readonly string[] = PACKAGES): LoadedUws | string {
  const reasons: string[] = []
  for (const name of packages) {
    const found = loadUws(name)
    if (typeof found !== 'string') return { ...found, passedOver: reasons.join('; ') }
    reasons.push(found)
  }
  return reasons.join('; ')
}

function loadUws(name: string): Omit<LoadedUws, 'passedOver'> | string {
  const { platform, arch, versions } = process
  const here = `Node.js ${versions.node} on ${platform}-${arch}`
  const none = `${name} has no build for ${here}`
  try {
    const folder = dirname(requireHere.resolve(name))
    // Without a build the older package writes to the console and falls back to a server of its own, so check first.
    if (!hasBuild(folder, `uws_${platform}_${arch}_${versions.modules}.node`)) return none
    // From 20.57 on it reads this when it is loaded. Its own limit is 4 KB, which cookies and proxies pass.
    process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(HEAD_MAX_BYTES)
    // Not imported: an error while an imported CommonJS package loads is also an unhandled rejection.
    const uWS = requireHere(name) as UwsPackage
    // Its fallback has no `close`.
    return 'close' in uWS.App() ? { uWS, version: versionOf(folder) } : none
  } catch (error) {
    return `${name} cannot be loaded by ${here}: ${reasonOf(error)}`
  }
}

/** The package from npm and the official one have their builds in different folders. */
function hasBuild(folder: string, file: string): boolean {
  return ['.', '../binaries'].some((place) => existsSync(join(folder, place, file)))
}

function versionOf(folder: string): string {
  const file = ['.', '..'].map((place) => join(folder, place, 'package.json')).find((path) => existsSync(path))
  return file === undefined ? 'unknown' : (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** The last line that is not empty: the newer package puts a text of its own before the reason of the system. */
function reasonOf(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return 'it is not installed'
  const message = error instanceof Error ? error.message : String(error)
  return message.trim().split('\n').at(-1)!
}
