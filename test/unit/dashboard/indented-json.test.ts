import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indentedJson } from '../../../src/dashboard/pages/lib/indented-json.ts'

test('JSON is indented like JSON.stringify does it', () => {
  const values = [{}, [], { a: [1, 'x,{"\\'], b: {}, c: [[], null] }, 'a: b', 1, [{ a: true }, { b: [] }]]
  for (const value of values) {
    assert.equal(indentedJson(JSON.stringify(value)), JSON.stringify(value, undefined, 2))
    assert.equal(indentedJson(JSON.stringify(value, undefined, 1)), JSON.stringify(value, undefined, 2))
  }
})

test('display changes no value of JSON, and no other text', () => {
  const sent = '{"id":12345678901234567891,"n":1.0,"id":1e400,"\\u0041":"\\u00e9","__proto__":2}'
  const shown =
    '{\n  "id": 12345678901234567891,\n  "n": 1.0,\n  "id": 1e400,\n  "\\u0041": "\\u00e9",\n  "__proto__": 2\n}'
  assert.equal(indentedJson(sent), shown)
  for (const text of ['', 'a, b', '{"a":', '[1,]']) assert.equal(indentedJson(text), text)
})
