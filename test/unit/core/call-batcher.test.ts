import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CallBatcher } from '../../../src/tenants/limits/shared-tokens.ts'

/** Calls that are answered by the test. */
function heldCalls() {
  const calls: { readonly demands: readonly number[]; resolve(): void; reject(error: Error): void }[] = []
  const batcher = new CallBatcher<number>((demands) => {
    return new Promise<void>((resolve, reject) => calls.push({ demands, resolve, reject }))
  })
  const add = (...demands: number[]) => {
    for (const demand of demands) batcher.add(demand)
  }
  const sent = () => calls.map((call) => call.demands)
  return { calls, add, sent }
}

const turn = () => new Promise(setImmediate)

test('demands of a turn are one call, and so are those that come during a call', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { calls, add, sent } = heldCalls()
  add(1, 2)
  assert.equal(calls.length, 0, 'the turn is not over')
  await turn()
  add(3)
  await turn()
  add(4)
  await turn()
  assert.deepEqual(sent(), [[1, 2]])
  calls[0]!.resolve()
  await turn()
  await turn()
  assert.deepEqual(sent(), [
    [1, 2],
    [3, 4],
  ])
  calls[1]!.reject(new Error('failed'))
  await turn()
  add(5)
  await turn()
  assert.deepEqual(sent(), [[1, 2], [3, 4], [5]], 'a call that failed ends like any other')
})

test('an unanswered call delays the others only briefly, and its late answer changes nothing', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { calls, add, sent } = heldCalls()
  add(1)
  await turn()
  add(2)
  await turn()
  assert.deepEqual(sent(), [[1]])
  t.mock.timers.tick(20)
  await turn()
  assert.deepEqual(sent(), [[1], [2]])
  add(3)
  calls[0]!.resolve()
  await turn()
  await turn()
  assert.deepEqual(sent(), [[1], [2]], 'the second is on its way still')
  calls[1]!.resolve()
  await turn()
  await turn()
  assert.deepEqual(sent(), [[1], [2], [3]])
})
