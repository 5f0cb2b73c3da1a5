import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'

/** Time-outs end when `t.mock.timers.tick` says so, those of modules that have them by name included. */
export function mockTimeouts(t: TestContext): void {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.timers.reset()
    syncBuiltinESMExports()
  })
}

/** Resolves when all has gone on that waits for nothing but so many turns of the event loop. */
export async function settled(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
}
