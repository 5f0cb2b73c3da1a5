import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineFinder } from '../../../src/pipeline/sinks/archive/line-finder.ts'

const line = (id: string, status = 'ok', rest = '"ip":"8.8.8.8"') =>
  `{"_received_at":"2026-11-22T01:02:03.004Z","_event_id":${JSON.stringify(id)},"_status":"${status}",${rest}}\n`

const TEXT = [
  line('a'),
  line('ü"\\', 'filtered'),
  line('ab'),
  // Text that looks like ours comes from the caller.
  line('b', 'ok', `"x":${line('ü"\\').trimEnd()}`),
  line('ü"\\', 'invalid_ip'),
  line('ü"\\', 'other'),
  '{}\n',
].join('')

test('lines of an event are found by their place, however the text is cut', () => {
  for (const size of [1, 7, 64, 10_000]) {
    const finder = new LineFinder('ü"\\')
    const bytes = Buffer.from(TEXT)
    for (let at = 0; at < bytes.length; at += size) finder.push(bytes.subarray(at, at + size))
    const receivedAt = '2026-11-22T01:02:03.004Z'
    assert.deepEqual(finder.lines, [
      { line: 1, receivedAt, status: 'filtered' },
      { line: 4, receivedAt, status: 'invalid_ip' },
    ])
  }
})

test('an id is not found by its beginning or its end', () => {
  for (const id of ['b', 'x', '']) {
    const finder = new LineFinder(id)
    finder.push(Buffer.from(TEXT))
    assert.deepEqual(finder.lines.length, id === 'b' ? 1 : 0, id)
  }
})
