import { setTimeout as sleep } from 'node:timers/promises'
import { defaultLoader, load } from '../loader/loader.ts'
import type { Options } from './options.ts'
import { startProduct } from './product.ts'
import { Releases } from './releases.ts'
import type { Run } from './results.ts'
import type { Scenario, Stage } from './scenario.ts'

interface RunContext {
  readonly options: Options
  /** Checkout to measure. */
  readonly root: string
  readonly withBounds: boolean
  /** Releases all resources of an aborted run. */
  readonly releases: Releases
  readonly say: (text: string) => void
}

let runs = 0

/** Runs a scenario once, on a new instance. */
export async function runOnce(scenario: Scenario, context: RunContext): Promise<Run> {
  const releases = new Releases()
  const end = context.releases.add(() => releases.releaseAll())
  try {
    const { options, root, say } = context
    const product = await startProduct(root, { ...scenario.settings, ...options.set }, releases)
    await product.idle()
    const stage: Stage = {
      product,
      options,
      releases,
      say,
      tag: `b${(runs++).toString(36)}`,
      seconds: (otherwise) => options.seconds ?? otherwise,
      atMostSeconds: (most) => Math.min(most, options.seconds ?? most),
      connections: (otherwise) => options.connections ?? otherwise,
      load: async (spec) => {
        const controller = new AbortController()
        const loading = load(spec, options.loader ?? defaultLoader(), controller.signal)
        const settled = releases.add(async () => {
          controller.abort()
          await loading.catch(() => {})
        })
        try {
          return await loading
        } finally {
          await settled()
        }
      },
    }
    const figures = await scenario.run(stage)
    if (!context.withBounds || scenario.bounds === undefined) return { figures, bounds: [] }
    await product.idle()
    return { figures, bounds: await scenario.bounds(stage, figures) }
  } catch (error) {
    // An aborted run fails in an arbitrary place. Hide that error until the releases end the process.
    if (context.releases.released) await sleep(2 ** 30)
    throw error
  } finally {
    await end()
  }
}
