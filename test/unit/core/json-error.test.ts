import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeJsonError, findJsonError } from '../../../src/run/json-error.ts'

const cases: readonly (readonly [text: string, position: number])[] = [
  ['{"a":x}', 5],
  ['{"a":1,}', 7],
  ['[1,]', 3],
  ['[1 2]', 3],
  ['{"a" 1}', 5],
  ['{a:1}', 1],
  ['[}', 1],
  ['{]', 1],
  ['{} x', 3],
  ['01', 1],
  ['[1.]', 2],
  ['[-]', 2],
  ['[+1]', 1],
  ['[NaN]', 1],
  ['[nul]', 4],
  ['[truE]', 4],
  ['"a\nb"', 2],
  ['"\\x"', 1],
  ['"\\u12g4"', 1],
  ["{'a':1}", 1],
  ['// no', 0],
  ['{"events":[', 11],
  ['{"a":"never ends', 16],
  ['tr', 2],
  ['\u00a01', 0],
]

test('the position is that of the first character that JSON does not allow', () => {
  for (const [text, position] of cases) {
    assert.throws(() => JSON.parse(text), `${text} is no JSON`)
    assert.equal(findJsonError(text), position, text)
  }
})

test('the error has line and column, and nothing else of the body', () => {
  assert.equal(describeJsonError('{\n  "a": secret\n}'), 'not JSON: unexpected "s" at position 9 (line 2, column 8)')
  assert.equal(describeJsonError('[1'), 'not JSON: it ends too early, at position 2')
})

test('depth and length do not matter', () => {
  assert.equal(findJsonError('['.repeat(1_000_000)), 1_000_000)
  assert.equal(findJsonError(`["${'\\u0041a'.repeat(150_000)}`), 2 + 7 * 150_000)
})

test('the fault in mutated JSON is found at or before the end, and valid JSON is accepted', () => {
  const valid = '{"events":[{"ip":"1.2.3.4","n":[1,-2.5e+3,true,false,null,{}],"s":"\\u00e9\\n"}]}'
  assert.equal(findJsonError(valid), valid.length)
  for (let at = 0; at < valid.length; at++) {
    for (const put of ['', '"', '}', ',', '\\', 'x']) {
      const text = valid.slice(0, at) + put + valid.slice(at + 1)
      let broken = false
      try {
        JSON.parse(text)
      } catch {
        broken = true
      }
      const found = findJsonError(text)
      if (broken) assert.ok(found >= Math.min(at, text.length) - 10 && found <= text.length, text)
      else assert.equal(found, text.length, text)
    }
  }
})
