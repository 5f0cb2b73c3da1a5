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
