import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LeaseLostError } from '../../../src/run/errors.ts'
import { type Lease, LeasedService } from '../../../src/run/leased-service.ts'
import { isPassing } from '../../../src/run/passing.ts'
import { mockTime, settled } from '../../support/mock-timeouts.ts'
import { silent } from '../../support/pipeline.ts'

/** A service that records each call, in order, and its lease, which is free or held by another process. */
function leasedService(t: TestContext) {
  const time = mockTime(t)
  const calls: string[] = []
  const state = { isFree: true, isOurs: false }
  const lease: Lease = {
    async acquire(signal) {
      calls.push('acquire')
      while (!state.isFree && !signal.aborted) await new Promise(setImmediate)
      state.isOurs = state.isFree
      return state.isOurs
    },
    assertHeld() {
      if (!state.isOurs) throw new LeaseLostError('it ran out')
    },
    async release() {
      calls.push('release')
      state.isOurs = false
    },
  }
  const logged: { readonly err: Error; readonly delay_ms: number; readonly isPassing: boolean }[] = []
  const log = silent.child({})
  log.warn = (...[facts, text]: unknown[]) => {
    calls.push(String(text))
    const { err, delay_ms } = facts as (typeof logged)[number]
    logged.push({ err, delay_ms, isPassing: isPassing(facts) })
  }
  /** The service's work besides its record. */
  const steps: Partial<Record<'settle' | 'takeOver' | 'round', () => Promise<void>>> = {}
  class Recorded extends LeasedService {
    constructor() {
      super({ name: 'test', lease, delay: { minMs: 100, maxMs: 1_000 }, problem: 'waits', log })
    }

    isStopping = () => this.signal.aborted

    protected override async settle(): Promise<void> {
      calls.push(this.isStopping() ? 'settle to stop' : 'settle')
      await steps.settle?.()
    }

    protected override async takeOver(): Promise<void> {
      calls.push('take over')
      await steps.takeOver?.()
    }

    protected override async round(): Promise<number> {
      calls.push('round')
      await steps.round?.()
      return 1_000
    }
  }
  return { ...{ time, calls, lease, logged, state, steps }, service: new Recorded() }
}

/** A step that runs until it is ended. */
function held() {
  let end = (_error?: Error) => {}
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve() : reject(error))
  })
  return { end: (error?: Error) => end(error), step: () => ended }
}

test('it takes over and works only once the lease is its own, and gives it back last', async (t) => {
  const { service, calls, state, time } = leasedService(t)
  state.isFree = false
  await service.start()
  await time.pass(10_000)
  assert.deepEqual(calls, ['settle', 'acquire'])
  state.isFree = true
  await time.pass(1_000)
  await service.stop()
  await service.stop()
  assert.deepEqual(calls, ['settle', 'acquire', 'take over', 'round', 'round', 'settle to stop', 'release'])
})

test('after the loss of the lease it does no round, logs it once, and ends its work before it waits again', async (t) => {
  const { service, calls, logged, state, steps, time } = leasedService(t)
  await service.start()
  await settled()
  Object.assign(state, { isFree: false, isOurs: false })
  const work = held()
  steps.settle = work.step
  await time.pass(1_000)
  await time.pass(100)
  assert.deepEqual(calls.splice(0), ['settle', 'acquire', 'take over', 'round', 'waits', 'settle'])
  assert.ok(logged[0]!.err instanceof LeaseLostError)
  assert.deepEqual([logged[0]!.delay_ms, logged[0]!.isPassing], [100, true])
  work.end()
  await time.pass(10_000)
  assert.deepEqual(calls.splice(0), ['acquire'])
  state.isFree = true
  await settled()
  assert.deepEqual(calls, ['take over', 'round'])
  await service.stop()
})

test('a failed take-over or round is tried again from the wait for the lease on', async (t) => {
  const { service, calls, steps, time } = leasedService(t)
  const failing = (next: () => void) => async () => {
    next()
    throw new Error('down')
  }
  steps.takeOver = failing(() => delete steps.takeOver)
  steps.round = failing(() => delete steps.round)
  await service.start()
  await settled()
  assert.deepEqual(calls.splice(0), ['settle', 'acquire', 'take over', 'waits'])
  await time.pass(100)
  assert.deepEqual(calls.splice(0), ['settle', 'acquire', 'take over', 'round', 'waits'])
  await time.pass(200)
  assert.deepEqual(calls, ['settle', 'acquire', 'take over', 'round'])
  await service.stop()
})

test('stopped while it waits for the lease, it neither takes over nor works', async (t) => {
  const { service, calls, state } = leasedService(t)
  state.isFree = false
  await service.start()
  await settled()
  await service.stop()
  assert.deepEqual(calls, ['settle', 'acquire', 'settle to stop', 'release'])
})

test('stopped while it takes over, it keeps the lease to the end of that, and does no round', async (t) => {
  const { service, calls, steps } = leasedService(t)
  const work = held()
  steps.takeOver = work.step
  await service.start()
  await settled()
  const stopped = service.stop()
  await settled()
  assert.deepEqual(calls, ['settle', 'acquire', 'take over'])
  work.end()
  await stopped
  assert.deepEqual(calls.slice(3), ['settle to stop', 'release'])
})

test('a stop reaches the round in progress, and keeps the lease until all work has ended', async (t) => {
  const { service, calls, steps } = leasedService(t)
  const [round, rest] = [held(), held()]
  steps.round = round.step
  await service.start()
  await settled()
  const stopped = service.stop()
  await settled()
  assert.equal(service.isStopping(), true)
  steps.settle = rest.step
  round.end()
  await settled()
  assert.deepEqual(calls.slice(3), ['round', 'settle to stop'])
  rest.end()
  await stopped
  assert.deepEqual(calls.slice(5), ['release'])
})

test('when work cannot be ended at a stop, the lease is not given to another process', async (t) => {
  const { service, calls, state, steps } = leasedService(t)
  await service.start()
  await settled()
  steps.settle = async () => {
    throw new Error('it goes on')
  }
  await service.stop()
  assert.equal(calls.at(-1), 'settle to stop')
  assert.equal(state.isOurs, true)
})

test('stopped before its start it asks for no lease', async (t) => {
  const { service, calls, time } = leasedService(t)
  await service.stop()
  await service.start()
  await time.pass(10_000)
  assert.deepEqual(calls, [])
})
