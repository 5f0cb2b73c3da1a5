import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { timeLimit } from '../../../src/run/time-limit.ts'

/** Frees everything that nothing refers to. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

test('a time ends, whatever is freed as garbage before', async () => {
  const stopping = new AbortController()
  const limit = timeLimit(50, stopping.signal)
  const ended = once(limit, 'abort')
  collectGarbage()
  // The timer of the limit does not keep the process.
  const kept = setInterval(collectGarbage, 10)
  await ended.finally(() => clearInterval(kept))
  assert.equal((limit.reason as Error).name, 'TimeoutError')
})

test('the other signal ends it at once, with its reason', () => {
  const stopping = new AbortController()
  const limit = timeLimit(60_000, stopping.signal)
  const reason = new Error('it stops')
  stopping.abort(reason)
  assert.deepEqual([limit.aborted, limit.reason], [true, reason])
  assert.equal(timeLimit(60_000, stopping.signal).reason, reason)
})
