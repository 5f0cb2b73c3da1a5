import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupCommit } from '../../../src/pipeline/streams/group-commit.ts'
import type { RedisClient } from '../../../src/stores/redis/connect.ts'
import { settled } from '../../support/mock-timeouts.ts'
import { envelope, silent } from '../../support/pipeline.ts'

const LINGER_MS = 5
const BLOCK_EVENTS_MAX = 1_000

/** A group commit whose calls of Redis are answered by the test. */
function heldCommits() {
  const calls: { readonly events: number; answer(): void }[] = []
  const client = {
    multi() {
      let script: Promise<number> | undefined
      return {
        call(command: string, ...args: [string, number]) {
          if (command === 'EVAL') script = client.callBuffer(command, ...args)
        },
        exec: async () => [[null, await script]],
      }
    },
    callBuffer(
      _command: string,
      _script: string,
      keys: number,
      ...args: (string | number | Buffer)[]
    ): Promise<number> {
      // For each block: stream, producer, counters; its events; the prefix of its counters; its fields with their number.
      let at = keys + 2
      let events = 0
      for (let block = 0; block < keys / 3; block++) {
        events += Number(args[at])
        at += 3 + Number(args[at + 2])
      }
      return new Promise<number>((resolve) => calls.push({ events, answer: () => resolve(1) }))
    },
  }
  const appended: number[] = []
  const intake = new GroupCommit({
    client: client as unknown as RedisClient,
    partitions: 2,
    stream: 'intake',
    outcomesTo: undefined,
    rawTo: undefined,
    lane: 'live',
    cluster: false,
    lingerMs: LINGER_MS,
    deadlineMs: 60_000,
    blockEventsMax: BLOCK_EVENTS_MAX,
    blockBytesMax: 262_144,
    waitingMax: 100_000,
    closedBecause: () => undefined,
    log: silent,
    onAppended: (envelopes) => void appended.push(envelopes),
  })
  let made = 0
  const send = (requests: number, events = 1) => {
    for (let i = 0; i < requests; i++) {
      void intake.append(Array.from({ length: events }, () => envelope('t', `e${made++}`)))
    }
  }
  return { calls, send, appended, sent: () => calls.map(({ events }) => events) }
}

test('an append resolves when Redis has it, and not before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { calls, send, appended } = heldCommits()
  send(1, 2)
  send(1, 3)
  t.mock.timers.tick(LINGER_MS)
  await settled()
  assert.deepEqual(appended, [])
  calls[0]!.answer()
  await settled()
  assert.deepEqual(appended, [2, 3])
})

test('after a commit of several requests the next one waits for as many, two lingers at most', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { calls, send, sent } = heldCommits()
  send(4)
  t.mock.timers.tick(LINGER_MS)
  await settled()
  send(3)
  calls[0]!.answer()
  await settled()
  send(3)
  await settled()
  assert.deepEqual(sent(), [4])
  send(1)
  await settled()
  assert.deepEqual(sent(), [4, 7], 'three that waited, and four that came again')
  calls[1]!.answer()
  await settled()
  send(2)
  t.mock.timers.tick(2 * LINGER_MS - 1)
  await settled()
  assert.deepEqual(sent(), [4, 7])
  t.mock.timers.tick(1)
  await settled()
  assert.deepEqual(sent(), [4, 7, 2])
})

test('after a commit of few requests, or many events, the next one is sent without a wait', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (const [requests, events] of [
    [1, 1],
    [3, 1],
    [4, 32],
  ] as const) {
    const { calls, send, sent } = heldCommits()
    send(requests, events)
    t.mock.timers.tick(LINGER_MS)
    await settled()
    send(1)
    calls[0]!.answer()
    await settled()
    assert.deepEqual(sent(), [requests * events, 1])
  }
})

test('a full block is not held back for requests that may come', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { calls, send, sent } = heldCommits()
  send(4)
  t.mock.timers.tick(LINGER_MS)
  await settled()
  calls[0]!.answer()
  await settled()
  send(1, BLOCK_EVENTS_MAX * 2)
  await settled()
  assert.deepEqual(sent(), [4, BLOCK_EVENTS_MAX * 2])
})
