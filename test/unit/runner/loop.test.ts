import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  growingDelay,
  Loop,
  type LoopWork,
  pause,
  poll,
  retry,
  untilTick,
  untilTurn,
} from '../../../src/runner/loop.ts'
import { mockTimeouts, settled } from '../../support/mock-timeouts.ts'

const DELAY = { minMs: 100, maxMs: 1_000 }

/** A clock that is moved by hand, and no jitter: each delay is as long as it can be. */
function mockTime(t: TestContext) {
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

/** Notes what is called, in order. */
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

test('started twice it runs once, a round behind each pause', async (t) => {
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

test('a round that asks for no pause is followed by the next one', async (t) => {
  mockTime(t)
  const { loop, log } = loopOf({ round: async () => new Promise((resolve) => setImmediate(resolve, undefined)) })
  await loop.start()
  await settled()
  await loop.stop()
  assert.ok(log.length > 2, `${log.length} rounds`)
})

test('woken it does a round at once, in its pause and behind the round in progress, but in no delay behind a failure', async (t) => {
  const time = mockTime(t)
  const round = failing('away')
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
  assert.deepEqual(log, ['round', 'failed away 100'])
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

test('stopped before it was started, or started again behind a stop, it does nothing', async (t) => {
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
      throw new Error('nobody hears of it')
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

test('a stop ends the delay behind a failure at once, and what fails behind it is told to nobody', async (t) => {
  mockTime(t)
  const delayed = loopOf({ enter: failing('away', 'away') })
  await delayed.loop.start()
  await settled()
  await delayed.loop.stop()
  assert.deepEqual(delayed.log, ['failed away 100'])

  const { loop, log } = loopOf({
    round: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut off')))),
  })
  await loop.start()
  await settled()
  await loop.stop()
  assert.deepEqual(log, ['round'])
})

test('the delay doubles up to its bound, and starts anew behind a round that succeeded', async (t) => {
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

test('it enters before the first round and again behind every failure, of enter too', async (t) => {
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
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const [held, free] = [loopOf().loop, loopOf({ unref: true }).loop]
  await Promise.all([held.start(), free.start()])
  await settled()
  assert.equal(timers(), before + 1)
  await Promise.all([held.stop(), free.stop()])
  assert.equal(timers(), before)
})

test('a pause lasts as long as it says, or until the signal, which may have been given before', async (t) => {
  const time = mockTime(t)
  const stopping = new AbortController()
  const ended: string[] = []
  void pause(100).then(() => ended.push('time'))
  void pause(60_000, stopping.signal).then(() => ended.push('signal'))
  await time.pass(99)
  assert.deepEqual(ended, [])
  await time.pass(1)
  stopping.abort()
  await settled()
  assert.deepEqual(ended, ['time', 'signal'])
  await pause(60_000, stopping.signal)
})

test('a growing delay is bounded, and cut by up to a half', (t) => {
  const random = t.mock.method(Math, 'random', () => 0)
  const delays = () => [0, 1, 2, 3, 4, 5_000].map((failures) => growingDelay(failures, DELAY))
  assert.deepEqual(delays(), [50, 100, 200, 400, 500, 500])
  random.mock.mockImplementation(() => 1)
  assert.deepEqual(delays(), [100, 200, 400, 800, 1_000, 1_000])
})

test('retry gives what succeeds, and the last failure when its tries are at their end', async (t) => {
  const time = mockTime(t)
  const tries: string[] = []
  const work = (succeedsAt: number) => async () => {
    tries.push(`${tries.length + 1}`)
    if (tries.length < succeedsAt) throw new Error(`try ${tries.length}`)
    return 'done'
  }
  const third = retry(work(3), { delay: DELAY })
  await time.pass(100)
  await time.pass(199)
  assert.equal(tries.length, 2)
  await time.pass(1)
  assert.equal(await third, 'done')

  tries.length = 0
  const given = assert.rejects(retry(work(9), { delay: DELAY, triesMax: 2 }), { message: 'try 2' })
  await time.pass(100)
  await given
  assert.equal(tries.length, 2)
})

test('retry does not repeat what is final, nor anything behind its signal', async (t) => {
  mockTime(t)
  let tries = 0
  const work = async () => {
    tries++
    throw new Error('no')
  }
  await assert.rejects(retry(work, { delay: DELAY, isFinal: (error) => (error as Error).message === 'no' }))
  assert.equal(tries, 1)
  const stopping = new AbortController()
  const ended = assert.rejects(retry(work, { delay: DELAY, signal: stopping.signal }), { message: 'no' })
  await settled()
  stopping.abort()
  await ended
  assert.equal(tries, 2)
})

test('retry uses its time up: the last try comes shortly before the deadline, and none behind it', async (t) => {
  const time = mockTime(t)
  const triedAtMs: number[] = []
  const work = async () => {
    triedAtMs.push(performance.now())
    throw new Error('away')
  }
  const ended = assert.rejects(retry(work, { delay: DELAY, deadlineMs: 600 }), { message: 'away' })
  await settled()
  for (let ms = 0; ms < 1_000; ms += 50) await time.pass(50)
  await ended
  assert.deepEqual(triedAtMs, [0, 100, 300, 500])
  await assert.rejects(retry(work, { delay: DELAY, deadlineMs: 0 }))
  assert.equal(triedAtMs.length, 5)
})

test('poll looks until there is something to see, its time is over, the signal is given, or a look fails', async (t) => {
  const time = mockTime(t)
  let seen: string | undefined
  let looks = 0
  const look = async () => {
    looks++
    return seen
  }
  const found = poll(look, { everyMs: 50 })
  await time.pass(50)
  seen = 'there'
  await time.pass(50)
  assert.deepEqual([await found, looks], ['there', 3])

  seen = undefined
  const late = poll(look, { everyMs: 50, deadlineMs: performance.now() + 75 })
  await time.pass(50)
  await time.pass(50)
  assert.deepEqual([await late, looks], [undefined, 6])

  const stopping = new AbortController()
  const ended = poll(look, { everyMs: 50, signal: stopping.signal })
  await settled()
  stopping.abort()
  assert.deepEqual([await ended, looks], [undefined, 7])
  assert.equal(await poll(look, { everyMs: 50, signal: stopping.signal }), undefined)
  assert.equal(looks, 7)
  await assert.rejects(poll(failing('broken'), { everyMs: 50 }), { message: 'broken' })
})

test('pauses of loops end together, none later than it was to, and short ones as they were', () => {
  for (let nowMs = 1_795_305_599_000; nowMs < 1_795_305_600_000; nowMs += 7) {
    for (const pauseMs of [250, 300, 500, 1_000, 1_500, 2_500, 5_000]) {
      const ms = untilTick(pauseMs, nowMs)
      const tickMs = pauseMs >= 1_000 ? 1_000 : 250
      assert.ok(ms <= pauseMs && ms > pauseMs - tickMs && ms >= 0, `${ms} of ${pauseMs}`)
      assert.equal((nowMs + ms) % tickMs, 0)
      // Right behind the end of a pause the next one is a whole one.
      if (pauseMs % tickMs === 0) assert.equal(untilTick(pauseMs, nowMs + ms), pauseMs)
    }
    for (const pauseMs of [0, 10, 249]) assert.equal(untilTick(pauseMs, nowMs), pauseMs)
  }
})

test('those who began at the same moment have turns as far apart as can be, and keep them', () => {
  for (let nowMs = 0; nowMs < 300; nowMs += 7) {
    const ends = [0, 0.25, 0.5, 0.75].map((turn) => nowMs + untilTurn(100, nowMs, turn))
    for (const [i, endMs] of ends.entries()) {
      assert.ok(endMs >= nowMs + 50 && endMs < nowMs + 150, `${endMs - nowMs} of 100`)
      assert.equal(untilTurn(100, endMs, i / 4), 100)
      // Timers are not exact.
      assert.equal(untilTurn(100, endMs + 3, i / 4), 97)
    }
    const places = ends.map((endMs) => endMs % 100).sort((a, b) => a - b)
    assert.deepEqual(places, [0, 25, 50, 75])
  }
  assert.equal(untilTurn(25, 1_000), 25)
})
