import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Loop, type LoopWork } from '../../../src/run/loop.ts'
import { heldPauses, mockTime, settled } from '../../support/mock-timeouts.ts'

const DELAY = { minMs: 100, maxMs: 1_000 }

/** Records each call, in order. */
function loopOf(work: Partial<LoopWork> = {}) {
  const log: string[] = []
  const loop = new Loop({
    name: 'test',
    delay: DELAY,
    failed: (error, delayMs) => log.push(`failed ${(error as Error).message} ${delayMs}`),
    ...work,
    round: async (signal) => {
      log.push('round')
      return work.round === undefined ? 1_000 : await work.round(signal)
    },
  })
  return { loop, log }
}

/** Rejects with each of the given messages, then succeeds. */
function failing(...messages: string[]): () => Promise<void> {
  return async () => {
    const message = messages.shift()
    if (message !== undefined) throw new Error(message)
  }
}

test('started twice it runs once, one round after each pause', async (t) => {
  const time = mockTime(t)
  const { loop, log } = loopOf()
  await Promise.all([loop.start(), loop.start()])
  await settled()
  assert.deepEqual(log, ['round'])
  await loop.start()
  await time.pass(999)
  assert.deepEqual(log, ['round'])
  await time.pass(1)
  assert.deepEqual(log, ['round', 'round'])
  await loop.stop()
})

test('a round that asks for no pause is followed by the next one at once', async (t) => {
  mockTime(t)
  const { loop, log } = loopOf({ round: async () => new Promise((resolve) => setImmediate(resolve, undefined)) })
  await loop.start()
  await settled()
  await loop.stop()
  assert.ok(log.length > 2, `${log.length} rounds`)
})

test('a wake starts a round at once, in a pause or after a round, but not in a failure delay', async (t) => {
  const time = mockTime(t)
  const round = failing('down')
  let finish = () => {}
  let isHeld = false
  const { loop, log } = loopOf({
    round: async () => {
      await round()
      if (isHeld) await new Promise<void>((resolve) => (finish = resolve))
      return 60_000
    },
  })
  await loop.start()
  await settled()
  loop.wake()
  await time.pass(99)
  assert.deepEqual(log, ['round', 'failed down 100'])
  await time.pass(1)
  assert.equal(log.length, 3)

  loop.wake()
  loop.wake()
  await settled()
  assert.equal(log.length, 4)
  isHeld = true
  loop.wake()
  await settled()
  loop.wake()
  await settled()
  assert.equal(log.length, 5)
  isHeld = false
  finish()
  await settled()
  assert.equal(log.length, 6)
  await time.pass(59_899)
  assert.equal(log.length, 6)
  await time.pass(1)
  assert.equal(log.length, 7)
  await loop.stop()
})

test('stopped before its start, or started after its stop, it does nothing', async (t) => {
  const time = mockTime(t)
  const left: string[] = []
  const early = loopOf({ leave: async () => void left.push('early') })
  await early.loop.stop()
  await early.loop.start()
  const again = loopOf({ leave: async () => void left.push('again') })
  await again.loop.start()
  await again.loop.stop()
  await again.loop.start()
  await time.pass(10_000)
  assert.deepEqual([early.log, again.log, left], [[], ['round'], ['again']])
})

test('a stop waits for the round, ends the pause at once, and leaves once', async (t) => {
  mockTime(t)
  let finish = () => {}
  const { loop, log } = loopOf({
    round: () => new Promise((resolve) => (finish = () => resolve(60_000))),
    leave: async () => {
      log.push('leave')
      throw new Error('it is not reported')
    },
  })
  await loop.start()
  await settled()
  let stopped = 0
  const stops = [loop.stop(), loop.stop()].map((stop) => stop.then(() => stopped++))
  await settled()
  assert.equal(stopped, 0)
  assert.equal(loop.signal.aborted, true)
  finish()
  await Promise.all(stops)
  await loop.stop()
  assert.deepEqual(log, ['round', 'leave'])

  const pausing = loopOf()
  await pausing.loop.start()
  await settled()
  await pausing.loop.stop()
  assert.deepEqual(pausing.log, ['round'])
})

test('a stop ends the delay after a failure at once, and a later failure is not reported', async (t) => {
  mockTime(t)
  const delayed = loopOf({ enter: failing('down', 'down') })
  await delayed.loop.start()
  await settled()
  await delayed.loop.stop()
  assert.deepEqual(delayed.log, ['failed down 100'])

  const { loop, log } = loopOf({
    round: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut off')))),
  })
  await loop.start()
  await settled()
  await loop.stop()
  assert.deepEqual(log, ['round'])
})

test('the delay doubles up to its limit, and starts again after a successful round', async (t) => {
  const time = mockTime(t)
  const round = failing('1', '2', '3', '4', '5', '6')
  let succeeds = false
  const { loop, log } = loopOf({
    round: async () => {
      if (!succeeds) await round()
      return 10
    },
  })
  await loop.start()
  await settled()
  for (const ms of [100, 200, 400, 800]) await time.pass(ms)
  succeeds = true
  await time.pass(1_000)
  succeeds = false
  await time.pass(10)
  const delays = log.filter((line) => line.startsWith('failed')).map((line) => line.split(' ')[2])
  assert.deepEqual(delays, ['100', '200', '400', '800', '1000', '100'])
  await loop.stop()
})

test('it enters before the first round and again after every failure, also of enter', async (t) => {
  const time = mockTime(t)
  const enter = failing('locked')
  const round = failing('lost')
  const { loop, log } = loopOf({
    enter: async () => {
      log.push('enter')
      await enter()
    },
    round: async () => {
      await round()
      return 10
    },
  })
  await loop.start()
  await settled()
  await time.pass(100)
  await time.pass(200)
  await time.pass(10)
  await loop.stop()
  assert.deepEqual(log, ['enter', 'failed locked 100', 'enter', 'round', 'failed lost 200', 'enter', 'round', 'round'])
})

test('stopped while it enters, it does no round', async () => {
  let finish = () => {}
  const { loop, log } = loopOf({ enter: () => new Promise((resolve) => (finish = resolve)) })
  await loop.start()
  const stopped = loop.stop()
  finish()
  await stopped
  assert.deepEqual(log, [])
})

test('a loop without ref does not keep the process from ending', async () => {
  const before = heldPauses()
  const [held, free] = [loopOf().loop, loopOf({ unref: true }).loop]
  await Promise.all([held.start(), free.start()])
  await settled()
  assert.equal(heldPauses(), before + 1)
  await Promise.all([held.stop(), free.stop()])
  assert.equal(heldPauses(), before)
})
