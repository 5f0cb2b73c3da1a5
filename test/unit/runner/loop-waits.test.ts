import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growingDelay, pause, poll, retry, untilTick, untilTurn } from '../../../src/run/loop.ts'
import { heldPauses, mockTime, settled } from '../../support/mock-timeouts.ts'

const DELAY = { minMs: 100, maxMs: 1_000 }

test('a pause ends after its time or at its signal, which may already be aborted', async (t) => {
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

test('retry returns the first success, or the last failure when its tries are used up', async (t) => {
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

test('retry repeats neither a final failure nor anything after its signal', async (t) => {
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

test('retry uses its time: the last try comes shortly before the deadline, none after it', async (t) => {
  const time = mockTime(t)
  const triedAtMs: number[] = []
  const work = async () => {
    triedAtMs.push(performance.now())
    throw new Error('down')
  }
  const ended = assert.rejects(retry(work, { delay: DELAY, deadlineMs: 600 }), { message: 'down' })
  await settled()
  for (let ms = 0; ms < 1_000; ms += 50) await time.pass(50)
  await ended
  assert.deepEqual(triedAtMs, [0, 100, 300, 500])
  await assert.rejects(retry(work, { delay: DELAY, deadlineMs: 0 }))
  assert.equal(triedAtMs.length, 5)
})

test('poll checks until a result, its deadline, its signal, or a failure', async (t) => {
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
  await assert.rejects(
    poll(() => Promise.reject(new Error('broken')), { everyMs: 50 }),
    { message: 'broken' },
  )
})

test('a poll without ref does not keep the process from ending', async (t) => {
  const before = heldPauses()
  const stopping = new AbortController()
  t.after(() => stopping.abort())
  const look = async () => undefined
  const options = { everyMs: 60_000, signal: stopping.signal }
  const polls = [poll(look, options), poll(look, { ...options, unref: true })]
  await settled()
  assert.equal(heldPauses(), before + 1)
  stopping.abort()
  assert.deepEqual(await Promise.all(polls), [undefined, undefined])
  assert.equal(heldPauses(), before)
})

test('pauses of loops end together, none later than due, and short ones unchanged', () => {
  for (let nowMs = 1_795_305_599_000; nowMs < 1_795_305_600_000; nowMs += 7) {
    for (const pauseMs of [250, 300, 500, 1_000, 1_500, 2_000, 2_500, 3_999, 4_000, 5_000]) {
      const ms = untilTick(pauseMs, nowMs)
      const tickMs = pauseMs >= 1_000 ? 1_000 : 250
      assert.ok(ms <= pauseMs && ms > pauseMs - tickMs && ms >= 0, `${ms} of ${pauseMs}`)
      assert.equal((nowMs + ms) % tickMs, 0)
      // Right after the end of a pause the next one is a whole one.
      if (pauseMs % tickMs === 0) assert.equal(untilTick(pauseMs, nowMs + ms), pauseMs)
    }
    for (const pauseMs of [0, 10, 249]) assert.equal(untilTick(pauseMs, nowMs), pauseMs)
  }
})

test('loops that began at the same moment have turns far apart, and keep them', () => {
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
