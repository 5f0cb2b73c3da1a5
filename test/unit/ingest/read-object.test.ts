import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import { isTooDeep, isValueTooDeep } from '../../../src/pipeline/event/json-depth.ts'
import { tsv } from '../../../src/pipeline/event/row.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { readObject } from '../../../src/pipeline/sources/live/read-object.ts'
import { sliceEvent } from '../../../src/pipeline/sources/live/slice-event.ts'
import { parseExactly, stringifyExactly } from '../../../src/pipeline/sources/tools/exact-json.ts'

const check = compileValidator(EventEnvelope)

/** Values of the keys of an event, as JSON; each is put beside some of the others. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  ip: ['"8.8.8.8"', '"2001:db8::1"', '"no \\"address\\" \\\\"', '"\\ud800"', '""'],
  event_id: ['"id-1"', '"é 😀"', '"cut \\ud83d"', '"a\\tb\\n"', '"\\u0000"', '" "'],
  timestamp: ['"2026-11-21T10:20:30Z"', '"2026-11-21T10:20:30.5+02:00"', '"2016-12-31T23:59:60Z"'],
  event_type: ['""', '"\\ude00 \\ud83d\\ude00"', '"page_view"', '"Signed \\"up\\""', `"${'😀'.repeat(256)}"`],
  account_id: ['"acme"', '"a\\\\b"', '"\\u007f\\ufffe"'],
  session_id: ['0', '-5', '9007199254740991'],
  platform: ['"web"', '"\\u001f"'],
  properties: [
    'null',
    '"text"',
    '{}',
    '{"a":[1,-0.5e+3,1.0,12345678901234567890,{"b":"\\n\\ud800"}],"1":2}',
    '[[[]]]',
    '1e400',
  ],
  user_properties: ['{"__proto__":{"x":"\\\\"},"id":1}', 'false', '{"name":"é"}'],
  url: ['"https://example.com/?a=\\"b\\""', '"/"'],
  ['__proto__']: ['1', '{"a":"\\t"}'],
  'ev"il\\key': ['[0.1000000000000000055]', '{}'],
}

function* events(): Generator<string> {
  const keys = Object.entries(VALUES)
  for (let n = 0; n < 2_000; n++) {
    const members = keys.flatMap(([key, values], at) => {
      const isLeftOut = key !== 'ip' && (n >> (at % 11)) % 2 === 1
      return isLeftOut ? [] : [`${JSON.stringify(key)}:${values[(n + at) % values.length]}`]
    })
    yield `{${members.join(',')}}`
  }
}

test('an object is read as its JSON is', () => {
  for (const sent of events()) {
    const event = parseExactly(sent) as EventEnvelope
    assert.deepEqual(check(event), [], sent)
    const json = stringifyExactly(event)
    const { isPlain, isPlainJson, ...read } = readObject(event, 0, json.length)
    const { isPlain: _isPlain, isPlainJson: _isPlainJson, ...same } = sliceEvent(json, 0, event)
    assert.deepEqual(read, same, sent)
    const strings = [read.ip, read.eventId ?? '', read.eventType, read.accountId, read.platform]
    if (isPlain) for (const value of strings) assert.equal(JSON.stringify(value), `"${value}"`, sent)
    const texts = [read.properties, read.userProperties, read.extra]
    assert.equal(
      isPlainJson,
      texts.every((value) => tsv(value) === value),
      sent,
    )
  }
  const usual = readObject({ ip: '8.8.8.8', event_id: 'é', platform: '@segment/analytics-node' }, 0, 0)
  assert.ok(usual.isPlain && usual.isPlainJson)
})

test('keys whose value is undefined are left out', () => {
  const event = { ip: '8.8.8.8', event_id: undefined, properties: undefined, user_properties: {}, url: undefined }
  const { properties, userProperties, extra, eventId } = readObject(event as unknown as EventEnvelope, 0, 0)
  assert.deepEqual([properties, userProperties, extra, eventId], ['', '{}', '', undefined])
})

test('an object has as many levels as its JSON', () => {
  const nested = (levels: number, inner: unknown): unknown => {
    return levels === 0
      ? inner
      : levels % 2 === 0
        ? [0, nested(levels - 1, inner)]
        : { a: '}]', b: nested(levels - 1, inner) }
  }
  for (const levels of [0, 1, 126, 127, 128, 129, 250]) {
    for (const inner of [null, 1, undefined, '{[', [], {}]) {
      const value = { event: nested(levels, inner) }
      const json = JSON.stringify(value)
      assert.equal(isValueTooDeep(value), isTooDeep(json), json)
      assert.equal(isTooDeep(json), levels + (typeof inner === 'object' && inner !== null ? 2 : 1) > 128, json)
    }
  }
})

test('brackets in strings are no levels, whatever is escaped', () => {
  const tooDeep = ['[[', '["\\"",[', '["\\\\",[', '["]",[', '{"a":{', ']][[[[', '\\"[["[[']
  const others = ['[', '["[[[', '["\\"[[[', '["\\\\\\"[[[', '[][][]', '"', '', ']]]]', '["a\\"],[", "\\\\"]']
  assert.deepEqual(
    [...tooDeep, ...others].filter((text) => isTooDeep(text, 1)),
    tooDeep,
  )
})
