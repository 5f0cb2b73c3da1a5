import { setTimeout as sleep } from 'node:timers/promises'
import { defaultLoader, load } from '../loader/loader.ts'
import type { Options } from './options.ts'
import { startProduct } from './product.ts'
import { Releases } from './releases.ts'
import type { Run } from './results.ts'
import type { Scenario, Stage } from './scenario.ts'

export interface RunContext {
  readonly options: Options
  /** Checkout whose program is measured. */
  readonly root: string
  readonly withBounds: boolean
  /** Of everything, for a run that is given up. */
  readonly releases: Releases
  readonly say: (text: string) => void
}

let runs = 0

/** Runs a scenario once, on an instance of its own. */
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
    // What is given up fails somewhere; who gives it up waits for the releases.
    if (context.releases.released) await sleep(2 ** 30)
    throw error
  } finally {
    await end()
  }
}
