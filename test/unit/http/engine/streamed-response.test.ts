import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BodyWriter, ResponseReader } from '../../../../src/http/engine/engine.ts'
import { StreamedResponse } from '../../../../src/http/engine/response.ts'

const turn = () => new Promise(setImmediate)

/** A streamed response of single letters into a connection with limited room, and its log. */
function start(room: number, isLast = false) {
  const log: string[] = []
  const state = { room, reader: undefined as ResponseReader | undefined }
  async function* letters() {
    try {
      for (const letter of 'abcd') {
        log.push(`ask ${letter}`)
        yield letter
      }
    } finally {
      log.push('source ends')
    }
  }
  let pending = ''
  const body: BodyWriter = {
    add: (text) => {
      pending += text
    },
    write() {
      if (pending === '') return 'none'
      log.push(`write ${pending}`)
      pending = ''
      return --state.room < 0 ? 'full' : 'more'
    },
    end: () => {
      log.push('end')
      return !isLast
    },
  }
  const limits = { writeStallMs: 1_000, workMs: 9_999, discardMs: 500 }
  const source = letters()
  const streamed = new StreamedResponse(source, limits, {
    done: () => void log.push('done'),
    broken: (failure) => void log.push(`broken ${failure}`),
    keepOpen: () => void log.push('keep open'),
  })
  const open = (reader: ResponseReader) => {
    state.reader = reader
    return body
  }
  const sent = source.next().then((first) => streamed.send(open, first))
  return { log, state, streamed, sent }
}

test('the source is asked for a piece after the one before is written, and the end comes last', async () => {
  const { log, sent } = start(9)
  await sent
  const steps = [...'abcd'].flatMap((letter) => [`ask ${letter}`, `write ${letter}`])
  assert.deepEqual(log, [...steps, 'source ends', 'end', 'done'])
})

test('the last response stays open until the client had time to read, or the server stops', async () => {
  for (const stops of [false, true]) {
    const { log, streamed, sent } = start(9, true)
    await sent
    streamed.sweep(performance.now() + 300)
    assert.equal(log.at(-1), 'end')
    streamed.sweep(performance.now() + (stops ? 300 : 600), stops)
    assert.equal(log.at(-1), 'broken undefined')
  }
})

test('without room no piece is requested; the connection stays open until the reader times out', async () => {
  const { log, state, streamed, sent } = start(1)
  while (!log.includes('write b')) await turn()
  for (let i = 0; i < 10; i++) await turn()
  assert.deepEqual(log, ['ask a', 'write a', 'ask b', 'write b'])
  streamed.sweep(performance.now())
  assert.equal(log.at(-1), 'keep open')
  state.reader!.hasRoom()
  while (!log.includes('write c')) await turn()
  streamed.sweep(performance.now() + 10_000)
  await sent
  assert.deepEqual(log.slice(5), ['ask c', 'write c', 'broken undefined', 'source ends'])
})

test('an abort stops the source, and neither end is reported', async () => {
  const { log, streamed, sent } = start(0)
  while (!log.includes('write a')) await turn()
  streamed.abort()
  await sent
  assert.deepEqual(log, ['ask a', 'write a', 'source ends'])
})
