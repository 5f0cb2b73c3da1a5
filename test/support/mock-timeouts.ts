import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'

/** Time-outs end at `t.mock.timers.tick`, also those of modules that imported them by name. */
export function mockTimeouts(t: TestContext): void {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.timers.reset()
    syncBuiltinESMExports()
  })
}

/** Resolves when all work has run that needs only this many turns of the event loop. */
export async function settled(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
}

/** Pauses that keep this process alive. */
export function heldPauses(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}

/** A clock that is moved by hand, and no jitter: each delay has its maximum. */
export function mockTime(t: TestContext) {
  mockTimeouts(t)
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  t.mock.method(Date, 'now', () => nowMs)
  t.mock.method(Math, 'random', () => 1)
  return {
    async pass(ms: number) {
      await settled()
      nowMs += ms
      t.mock.timers.tick(ms)
      await settled()
    },
  }
}
