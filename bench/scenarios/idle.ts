import { setTimeout as sleep } from 'node:timers/promises'
import { peakFigures } from '../run/product.ts'
import type { Scenario } from '../run/scenario.ts'

const SECONDS = 60
/** After a start, processes read data, and engines compile code. */
const AFTER_START_MS = 60_000

export const IDLE: Scenario = {
  name: 'idle',
  summary: 'CPU of all processes at rest, from a minute after the start',
  async run({ product, seconds }) {
    await sleep(AFTER_START_MS)
    const accounting = product.accounting()
    await sleep(seconds(SECONDS) * 1_000)
    const shares = [...accounting.cpu()].map(([name, used]) => [name, (100 * used) / accounting.seconds] as const)
    return {
      'idle all % of a core': shares.reduce((sum, [, share]) => sum + share, 0),
      ...Object.fromEntries(shares.map(([name, share]) => [`idle ${name} % of a core`, share])),
      ...peakFigures(accounting),
    }
  },
}
