import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Advice } from '../../../../src/batch/files/conversion.ts'
import { openEventFile } from '../../../../src/batch/files/event-file.ts'
import { previewFile } from '../../../../src/batch/files/preview.ts'

const advice: Advice = { map: 'the mapping', address: String, dateOrder: '', encoding: '' }
const choice = {
  format: 'csv',
  encoding: undefined,
  dateOrder: undefined,
  map: new Map<string, string>(),
  advice,
} as const

async function eventsOf(text: string, map = choice.map): Promise<string[]> {
  async function* source() {
    yield Buffer.from(text)
  }
  const { events } = await openEventFile('x.csv', source(), { ...choice, map })
  const pieces: Buffer[] = []
  for await (const piece of events(({ reason }) => reason)) pieces.push(piece)
  return Buffer.concat(pieces).toString().split('\n')
}

test('whatever a file names as its separator separates', async () => {
  for (const separator of ['(', ')', '[', '*', '+', '?', '\\', '^', '$', '{', '|', ' ', ';']) {
    const lines = [`sep=${separator}`, `ip${separator}event_type`, `192.0.2.1${separator}"a ""b"""`]
    const wanted = '{"ip":"192.0.2.1","event_type":"a \\"b\\""}'
    assert.deepEqual(await eventsOf(`${lines.join('\n')}\n`), ['', '', wanted, ''], separator)
    const how = { ...choice, isWhole: true, guesses: true }
    const { rows } = await previewFile('x.csv', Buffer.from(lines.join('\n')), how, () => [])
    assert.deepEqual(
      rows.map(({ event }) => event),
      [wanted],
    )
  }
})

// Each of them took minutes, in which the process did nothing else.
const HANG = { timeout: 30_000 }

test('columns by the hundred thousand cost no more than their bytes', HANG, async () => {
  const columns = ['ip', ...Array.from({ length: 130_000 }, (_, i) => `c${i}`)]
  const rows = Array(30_000).fill('192.0.2.1')
  const events = await eventsOf([columns.join(), ...rows, ''].join('\n'))
  assert.equal(events.filter((event) => event === '{"ip":"192.0.2.1"}').length, 30_000)
})

test('a mapping of many columns is gone over once, and not for each of them', HANG, async () => {
  const columns = Array.from({ length: 13_000 }, (_, i) => `c${i}`)
  const map = new Map(columns.map((name, i) => [name, i === 0 ? 'ip' : '']))
  const events = await eventsOf(`${columns.join()}\n192.0.2.1,x\n`, map)
  assert.deepEqual(events, ['', '{"ip":"192.0.2.1"}', ''])
})

test('spaces that separate cost no more than their bytes', HANG, async () => {
  const spaces = ' '.repeat(1_000_000)
  assert.equal(
    (await eventsOf(`sep= \nip event_type\n192.0.2.1${spaces}"x"\n192.0.2.2 x\n`))[3],
    '{"ip":"192.0.2.2","event_type":"x"}',
  )
})
