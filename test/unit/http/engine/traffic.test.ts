import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Registry } from 'prom-client'
import { DEFAULT_HTTP_LIMITS } from '../../../../src/http/engine/limits.ts'
import { type InFlight, Traffic } from '../../../../src/http/engine/traffic.ts'
import { silent } from '../../../support/pipeline.ts'

interface Fake extends InFlight {
  readonly text: number[]
}

const TEXT_NUMBERS = 1_000
const REQUESTS = 10_000
const IN_FLIGHT = 64
/** An object that survives two collections counts as old. */
const COLLECT_EVERY = 10 * IN_FLIGHT

function fakeRequest(sweep: (request: Fake) => void = () => {}): Fake {
  const text = new Array<number>(TEXT_NUMBERS).fill(0.5)
  const owner = { tenantId: undefined, client: '' }
  const request = {
    requestId: '',
    endpoint: { path: '/' },
    startedMs: 0,
    heldBytes: 0,
    owner,
    isArrivingStranger: false,
    position: -1,
    begin() {},
    cutOff() {},
    text,
  }
  return { ...request, sweep: () => sweep(request as unknown as Fake) }
}

const newTraffic = () => new Traffic(DEFAULT_HTTP_LIMITS, silent, new Registry())

test('an answered request is freed by the next minor collection, even under steady load', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void
  const traffic = newTraffic()
  const inFlight: Fake[] = []
  const pass = (requests: number) => {
    for (let i = 0; i < requests; i++) {
      const request = fakeRequest()
      inFlight.push(request)
      traffic.entered(request, false)
      if (inFlight.length > IN_FLIGHT) traffic.left(inFlight.shift()!)
      if (i % COLLECT_EVERY === 0) collect({ type: 'minor' })
    }
    collect({ type: 'minor' })
  }
  pass(1_000)
  collect()
  const before = process.memoryUsage().heapUsed
  pass(REQUESTS)
  const keptBytes = process.memoryUsage().heapUsed - before
  assert.ok(keptBytes < (REQUESTS / 10) * 8 * TEXT_NUMBERS, `${keptBytes} bytes are kept`)
})

test('requests leave in any order, once, and the rest is swept once, also during a removal', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const traffic = newTraffic()
  traffic.start()
  const swept: number[] = []
  const requests = Array.from({ length: 9 }, (_, i) =>
    fakeRequest(() => {
      swept.push(i)
      if (i % 2 === 1) traffic.left(requests[i]!)
    }),
  )
  for (const request of requests) traffic.entered(request, false)
  for (const i of [3, 0, 8, 3]) traffic.left(requests[i]!)
  const sweepOf = (numbers: number[]) => {
    swept.length = 0
    t.mock.timers.tick(500)
    assert.deepEqual([...swept].sort(), numbers)
  }
  sweepOf([1, 2, 4, 5, 6, 7])
  sweepOf([2, 4, 6])
  let isIdle = false
  const drained = traffic.drain(60_000).then((left) => {
    isIdle = true
    return left
  })
  for (const i of [2, 4, 4]) traffic.left(requests[i]!)
  await new Promise(setImmediate)
  assert.equal(isIdle, false)
  traffic.left(requests[6]!)
  assert.equal(await drained, 0)
})

test('the sweep for slow requests runs only while there are requests', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const traffic = new Traffic(DEFAULT_HTTP_LIMITS, silent, new Registry())
  traffic.start()
  let sweeps = 0
  const request = {
    ...{ requestId: 'r', endpoint: { path: '/', methods: [] }, startedMs: 0, heldBytes: 0 },
    begin() {},
    sweep: () => void sweeps++,
  } as unknown as InFlight
  const isSwept = () => {
    const before = sweeps
    t.mock.timers.tick(500)
    return sweeps > before
  }
  traffic.entered(request, false)
  assert.equal(isSwept(), true)
  traffic.left(request)
  assert.equal(isSwept(), false)
  const set = t.mock.method(globalThis, 'setInterval')
  traffic.entered(request, false)
  assert.equal(set.mock.callCount(), 1, 'the timer was ended')
  traffic.stop()
})
