import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartupError } from '../../run/errors.ts'
import type { CreateEngine } from './engine.ts'

/** The setting's values: an engine by the name of its package or module, or `auto` for the fastest that runs here. */
export const ENGINE_CHOICES = ['auto', 'uWebSockets.js', 'node:http'] as const
export type EngineChoice = (typeof ENGINE_CHOICES)[number]

export interface ChosenEngine {
  readonly name: Exclude<EngineChoice, 'auto'>
  readonly create: CreateEngine
  /** Why this is not the faster engine, and what to do about it. */
  readonly note?: string
}

/**
 * Chooses the engine.
 * @throws StartupError when the engine is named and cannot run here
 */
export async function chooseEngine(choice: EngineChoice): Promise<ChosenEngine> {
  const { createNodeEngine } = await import('./node/engine.ts')
  const nodeHttp = { name: 'node:http', create: createNodeEngine } as const
  if (choice === 'node:http') return nodeHttp
  const native = await findNative()
  if (typeof native === 'function') return { name: 'uWebSockets.js', create: native }
  if (choice === 'uWebSockets.js') throw new StartupError(`HTTP_ENGINE=uWebSockets.js cannot run: ${native}`)
  return { ...nodeHttp, note: `${native}; src/http/engine/README.md says how to get the faster engine` }
}

/** The engine of uWebSockets.js, or the reason why it does not run here. */
async function findNative(): Promise<CreateEngine | string> {
  const { platform, arch, versions } = process
  const here = `Node.js ${versions.node} on ${platform}-${arch}`
  const none = `the installed uWebSockets.js has no build for ${here}`
  try {
    // Without a build the package writes to the console and falls back to a server of its own, so check first.
    if (!hasBuild(`uws_${platform}_${arch}_${versions.modules}.node`)) return none
    const { createUwsEngine, isNative } = await import('./uws/engine.ts')
    return isNative() ? createUwsEngine : none
  } catch (error) {
    return `uWebSockets.js cannot be loaded by ${here}: ${error instanceof Error ? error.message.split('\n', 1)[0] : error}`
  }
}

/** The package from npm and the official one have their builds in different folders. */
function hasBuild(file: string): boolean {
  const folder = dirname(createRequire(import.meta.url).resolve('uWebSockets.js'))
  return ['.', '../binaries'].some((place) => existsSync(join(folder, place, file)))
}
