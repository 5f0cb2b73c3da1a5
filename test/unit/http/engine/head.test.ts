import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHead } from '../../../../src/http/engine/head.ts'

function framingOf(...lines: (readonly [name: string, value: string])[]) {
  const { badFraming, contentLength, hasBody } = readHead({
    forEach(line) {
      for (const [name, value] of lines) line(name, value)
    },
  })
  return badFraming ?? [contentLength, hasBody]
}

test('a body with an ambiguous length is refused, whatever the engine accepts', () => {
  assert.deepEqual(framingOf(), [undefined, false])
  assert.deepEqual(framingOf(['content-length', '5']), [5, true])
  assert.deepEqual(framingOf(['transfer-encoding', 'Chunked']), [undefined, true])
  assert.match(String(framingOf(['content-length', '5'], ['transfer-encoding', 'chunked'])), /exclude each other/)
  assert.match(String(framingOf(['content-length', '5'], ['content-length', '6'])), /one number/)
  for (const length of ['', '-1', '+1', '0x5', '1234567890', '5 ']) {
    assert.match(String(framingOf(['content-length', length])), /one number/, length)
  }
  for (const encoding of ['gzip', 'gzip, chunked', 'identity']) {
    assert.match(String(framingOf(['transfer-encoding', encoding])), /must be chunked/, encoding)
  }
})
