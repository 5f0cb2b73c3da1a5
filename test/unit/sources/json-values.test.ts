import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonValues, TOO_LONG_VALUE } from '../../../src/pipeline/sources/http/json-values.ts'

/** The values of a body that arrives in pieces of the given size. */
function valuesOf(body: string | Buffer, pieceBytes = Number.POSITIVE_INFINITY, wrappedIn?: string, maxBytes?: number) {
  const values = new JsonValues(wrappedIn, maxBytes)
  const bytes = Buffer.from(body)
  const found = []
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    found.push(...values.push(bytes.subarray(at, Math.min(bytes.length, at + pieceBytes))))
  }
  return [...found, ...values.end()].map((value) => (value === TOO_LONG_VALUE ? 'too long' : value.toString()))
}

/** The same in pieces of every size. */
function assertValues(body: string, expected: readonly string[], wrappedIn?: string): void {
  for (const pieceBytes of [1, 2, 3, 7, 64, Number.POSITIVE_INFINITY]) {
    assert.deepEqual(valuesOf(body, pieceBytes, wrappedIn), expected, `${JSON.stringify(body)} by ${pieceBytes}`)
  }
}

test('one broken object takes no other of its line, wherever it is', () => {
  assertValues('{"a":1}{"a":NaN}{"a":3}', ['{"a":1}', '{"a":NaN}', '{"a":3}'])
  assertValues('{"a":1}{"a":"2}{"a":3} {"b":"x{"}\n{"a":4}{"a":5}\n', [
    ...['{"a":1}', '{"a":"2}', '{"a":3} ', '{"b":"x{"}', '{"a":4}', '{"a":5}'],
  ])
  assertValues('{"cut":"\n{"a":1}{"b":"}{"}\t{"a":{{"c":3}\n17.0.0.1 "/{a}{b}"\n', [
    ...['{"cut":"', '{"a":1}', '{"b":"}{"}', '{"a":{{"c":3}', '17.0.0.1 "/{a}{b}"'],
  ])
  assertValues('{"a":[}{"a":2}{"a":{}}', ['{"a":[}', '{"a":2}', '{"a":{}}'])
})

test('a line of broken objects is read once', () => {
  const body = `{"cut":"\n${'{"a":[['.repeat(200_000)}${'{"a":[}'.repeat(200_000)}\n{"b":1}`
  const values = new JsonValues(undefined, 8_388_608)
  const found = [...values.push(Buffer.from(body))]
  assert.deepEqual([found.length, ...[...values.end()].map(String)], [200_001, '{"b":1}'])
})

test('the values of a line are made one after the other', (t) => {
  for (const start of ['{"cut":"', '{"cut":"\n']) {
    const values = new JsonValues().push(Buffer.from(`${start}${'{}'.repeat(100_000)}\n`))
    const made = t.mock.method(Buffer.prototype, 'subarray')
    assert.match(String(values.next().value), /^\{"cut":"/)
    assert.equal(String(values.next().value), '{}')
    assert.ok(made.mock.callCount() < 20, String(made.mock.callCount()))
    made.mock.restore()
  }
})

test('a body is lines, an array, or one object, however it is cut into pieces', () => {
  assertValues('{"a":1}\n{"b":"x\\"]}"}\r\n\n \n{"c":3}', ['{"a":1}', '{"b":"x\\"]}"}', '{"c":3}'])
  assertValues('[{"a":[1,"]"]} , {"b":{"c":"\\\\"}},5,"x,y"]', ['{"a":[1,"]"]} ', '{"b":{"c":"\\\\"}}', '5', '"x,y"'])
  assertValues('\ufeff {\n  "a": {\n    "b": 1\n  }\n}\n', ['{\n  "a": {\n    "b": 1\n  }\n}'])
  assertValues('[]', [])
  assertValues(' \n[ ] \n', [])
  assertValues('', [])
  assertValues('[{"a":1}]\n[{"b":2}]', ['{"a":1}', '{"b":2}'])
})

test('objects may follow each other with nothing, blanks or line breaks between and in them', () => {
  assertValues('{"a":1}{"b":"}{"}{"c":[{}]}', ['{"a":1}', '{"b":"}{"}', '{"c":[{}]}'])
  assertValues('{"a":1} \t{"b":2}\r\n{"c":3}{"d":4}\n', ['{"a":1}', '{"b":2}', '{"c":3}', '{"d":4}'])
  assertValues('{\n  "a": 1\n}\n{\n  "b": {}\n}{\n}\n', ['{\n  "a": 1\n}', '{\n  "b": {}\n}', '{\n}'])
  assertValues('{"a":1} nope {"b":2}\n{"c":3}', ['{"a":1}nope {"b":2}', '{"c":3}'])
  assertValues('{"a":1},{"b":2}\n{"c":3}\n', ['{"a":1},{"b":2}', '{"c":3}'])
  assertValues('{"records":[1]}{"records":[2]}', ['1', '2'], 'records')
})

test('a line that is cut off takes no other line with it, wherever it is', () => {
  assertValues('{"a":1}\n{"b":"cu\n{"c":3}\n', ['{"a":1}', '{"b":"cu', '{"c":3}'])
  assertValues('{"a":1}\n{"b":{"x":1\n{"c":3}\n{"d":4}', ['{"a":1}', '{"b":{"x":1', '{"c":3}', '{"d":4}'])
})

test('broken lines and elements are passed on, and take nothing else with them', () => {
  assertValues('{"a":\n{"b":2}\n[oops\n"\n{"c":3}\n', ['{"a":', '{"b":2}', '[oops', '"', '{"c":3}'])
  assertValues('nonsense\n{"b":2}\n', ['nonsense', '{"b":2}'])
  assertValues('[{"a":1]},{"b":2},}, {"c" 3} {},nope]', ['{"a":1]}', '{"b":2}', '}', '{"c" 3} {}', 'nope'])
})

test('a first line that opens an object and never closes it is a line, also in a large body', () => {
  const lines = Array.from({ length: 60_000 }, (_, i) => `{"id":${i},"text":"more than a megabyte of lines"}`)
  for (const pieceBytes of [1_000, 65_536, Number.POSITIVE_INFINITY]) {
    const found = valuesOf(`{"a":{\n${lines.join('\n')}`, pieceBytes)
    assert.deepEqual([found.length, found[0], found.at(-1)], [60_001, '{"a":{', lines.at(-1)])
  }
})

test('an array that is broken between its elements, or cut off, is refused', () => {
  for (const body of ['[,1]', '[1,,2]']) {
    assert.throws(() => valuesOf(body), /broken JSON array/, body)
  }
  for (const body of ['[', '[{"a":1},', '[{"a":1}', '["x']) assert.throws(() => valuesOf(body), /cut off/, body)
})

test('a value that is too long is named, and the next ones are read', () => {
  const long = `"${'x'.repeat(100)}"`
  assert.deepEqual(valuesOf(`[${long},1]`, 16, undefined, 64), ['too long', '1'])
  assert.deepEqual(valuesOf(`1\n${long}\n2`, 16, undefined, 64), ['1', 'too long', '2'])
})

test('the values of a wrapping object are those of its array, wherever it is', () => {
  const body = '{"requestId":"a","x":{"records":[9]},"records":[{"data":"QQ=="},{"data":"]"}],"timestamp":1}'
  assertValues(body, ['{"data":"QQ=="}', '{"data":"]"}'], 'records')
  assertValues('{ "records" : [ ] }', [], 'records')
  assert.throws(() => valuesOf('{"Records":[1]}', 3, 'records'), /no array "records"/)
  assert.throws(() => valuesOf('{"records":[1]', 3, 'records'), /cut off/)
})
