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

/** Pauses that keep this process from ending. */
export function heldPauses(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}

/** A clock that is moved by hand, and no jitter: each delay is as long as it can be. */
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
