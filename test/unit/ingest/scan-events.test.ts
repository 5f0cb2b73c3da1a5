import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestRequest } from '../../../schemas/api/event.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { scanEventLine, scanEvents } from '../../../src/pipeline/sources/live/scan-events.ts'
import { sliceEvents } from '../../../src/pipeline/sources/live/slice-event.ts'

const validate = compileValidator(IngestRequest)

/** The result without the scanner; undefined: the request is refused. */
function sliced(text: string) {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  if (validate(body).length > 0) return undefined
  const { events } = body as IngestRequest
  return events.length === 0 || events.length > 100 ? undefined : sliceEvents(text, events)
}

/** Whether a text is scanned; if it is, the result must equal the one without the scanner. */
function isScanned(text: string): boolean {
  const scanned = scanEvents(text)
  if (scanned === undefined) return false
  const wanted = sliced(text)
  assert.ok(wanted, `scanned, and has to be refused: ${text}`)
  for (const [i, event] of scanned.entries()) {
    const { isPlain, isPlainJson, ...read } = event
    const { isPlain: _isPlain, isPlainJson: _isPlainJson, ...same } = wanted[i]!
    assert.deepEqual(read, same, text)
    const queried = [event.ip, event.eventId ?? '', event.eventType, event.accountId, event.platform]
    if (isPlain) for (const value of queried) assert.equal(JSON.stringify(value), `"${value}"`, text)
    const json = [event.properties, event.userProperties, event.extra].join('')
    if (isPlainJson) assert.doesNotMatch(json, /[\\\t\r\n]/, text)
  }
  assert.equal(scanned.length, wanted.length)
  return true
}

const EVENT =
  '{"ip":"8.8.8.8","event_id":"é 1","timestamp":"2026-11-21T10:20:30.5Z","event_type":"page_view","session_id":-12,' +
  '"platform":"web","account_id":"a","properties":{"a":[1,-0.5e+3,true,false,null,{}],"b":"\\u00e9\\n\\"","c":[]},' +
  '"user_properties": [ {"x" : 1} ],"other":"x","more" : {"y":[[],{"z":0}]}}'

test('the usual requests are scanned', () => {
  const bare = '{"ip":"2001:db8::1"}'
  for (const text of [
    `{"events":[${EVENT}]}`,
    `{"events":[${bare}]}`,
    ` {\n\t"events" : [ ${EVENT} ,\r\n ${bare} ] } `,
    `{"events":[${Array.from({ length: 100 }, () => EVENT).join()}]}`,
    `{"events":[{"ip":"no","properties":null,"user_properties":"x","extra":1e9,"extra":-1}]}`,
    '{"events":[{"ip":"1.1.1.1","ip":"8.8.8.8","event_type":"a","event_type":"","properties":1,"properties":2}]}',
    `{"events":[{"ip":"1.1.1.1","event_id":"${'x'.repeat(256)}","session_id":0}]}`,
    `{"events":[{"ip":"1.1.1.1","tab"\t:\t1,"__proto__":{"a":1}}]}`,
  ]) {
    assert.ok(isScanned(text), text)
  }
  assert.ok(scanEventLine(` ${EVENT}\r`))
})

test('invalid or ambiguous text is not scanned', () => {
  const values = [
    '01',
    '1.',
    '.5',
    '+1',
    '-',
    '1e',
    '0x1',
    'nul',
    'True',
    '"\\x"',
    '"\\u00g0"',
    '"a\nb"',
    '"',
    '[1,]',
    '[,1]',
  ]
  const more = ['{"a"}', '{"a":}', '{"a":1,}', '{a:1}', '[1 2]', '{"a":1]', '[1}', '', '"\u0001"', 'NaN', '[', '{']
  const members = [
    ...[...values, ...more].map((value) => `"ip":"8.8.8.8","properties":${value}`),
    '"ip":5',
    '"ip":"8.8.8.8","event_id":""',
    `"ip":"8.8.8.8","event_id":"${'x'.repeat(257)}"`,
    `"ip":"8.8.8.8","platform":"${'x'.repeat(257)}"`,
    '"ip":"8.8.8.8","event_type":null',
    '"ip":"8.8.8.8","session_id":"1"',
    '"ip":"8.8.8.8","session_id":1.5',
    '"ip":"8.8.8.8","session_id":01',
    '"ip":"8.8.8.8","session_id":99999999999999999999',
    '"ip":"8.8.8.8","timestamp":"yesterday"',
    '"ip":"8.8.8.8","timestamp":"2026-02-30T00:00:00Z"',
    '"ip":"8.8.8.8",',
    '"ip" "8.8.8.8"',
    '"event_id":"a"',
    '',
  ]
  const texts = [
    ...members.map((member) => `{"events":[{${member}}]}`),
    ...[
      '',
      '{}',
      '[]',
      '{"events":[]}',
      '{"events":{}}',
      '{"events":[{"ip":"8.8.8.8"}]',
      '{"events":[{"ip":"8.8.8.8"}]}x',
    ],
    ...['{"events":[{"ip":"8.8.8.8"},]}', '{"events":[{"ip":"8.8.8.8"} {"ip":"8.8.8.8"}]}', '{"events":["8.8.8.8"]}'],
    `{"events":[${Array.from({ length: 101 }, () => '{"ip":"8.8.8.8"}').join()}]}`,
  ]
  for (const text of texts) {
    assert.equal(scanEvents(text), undefined, text)
    assert.equal(sliced(text), undefined, text)
  }
  // Valid, but parsed in another way.
  for (const text of [
    '{"events":[{"\\u0069p":"8.8.8.8"}]}',
    '{"events":[{"ip":"8.8.8.8","event_type":"\\u00e9"}]}',
    '{"events":1,"events":[{"ip":"8.8.8.8"}]}',
    '{"events":[{"ip":"8.8.8.8"}],"more":1}',
    `{"events":[{"ip":"8.8.8.8","properties":${'['.repeat(100)}${']'.repeat(100)}}]}`,
    '{"events":[{"ip":5,"ip":"8.8.8.8","session_id":1e3}]}',
  ]) {
    assert.equal(scanEvents(text), undefined, text)
    assert.ok(sliced(text), text)
  }
  assert.equal(scanEventLine(`${EVENT}x`), undefined)
  assert.equal(scanEventLine('\0row is broken'), undefined)
})

test('texts with any character changed, dropped or added give the same as without the scan', () => {
  const text = `{"events":[${EVENT},{"ip":"::1" , "a":[ ]}]}`
  const characters = [
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    '\n',
    '\t',
    '0',
    '-',
    '.',
    'e',
    'u',
    'x',
    '\u0000',
    'é',
    '😀',
  ]
  let scanned = 0
  for (let at = 0; at < text.length; at++) {
    if (isScanned(text.slice(0, at) + text.slice(at + 1))) scanned++
    for (const character of characters) {
      if (isScanned(text.slice(0, at) + character + text.slice(at + 1))) scanned++
      if (isScanned(text.slice(0, at) + character + text.slice(at))) scanned++
    }
  }
  assert.ok(scanned > 1_000, `only ${scanned} of them were scanned`)
})

test('a text is not continued by the one before it', () => {
  const whole = `{"events":[${EVENT}]}`
  for (let end = 0; end < whole.length; end++) {
    assert.ok(scanEvents(whole))
    assert.equal(scanEvents(whole.slice(0, end)), undefined, whole.slice(0, end))
  }
  assert.ok(scanEvents(`${whole}  `))
  assert.ok(scanEvents(whole), 'white space of the text before is not part of it')
  // Nor by one that did not fit.
  const large = `{"events":[{"ip":"1.1.1.1","properties":"${'x'.repeat(200_000)}"}]}`
  assert.equal(scanEvents(large)?.[0]?.properties.length, 200_002)
  assert.equal(scanEvents(large.slice(0, -1)), undefined)
})

test('keys with a common beginning are different keys', () => {
  const known = [
    'ip',
    'event_id',
    'timestamp',
    'event_type',
    'account_id',
    'platform',
    'session_id',
    'properties',
    'user_properties',
  ]
  const keys = known.flatMap((key) => [
    ...[`${key}x`, `x${key}`, key.slice(0, -1), key.slice(0, 1), key.toUpperCase()],
    ...[key.replace('_', '-'), `${key}\\u0000`, `${key.slice(0, -1)}\u0100`],
  ])
  for (const key of ['', ...keys].filter((key) => !known.includes(key))) {
    const [event] = scanEvents(`{"events":[{"ip":"1.1.1.1","${key}":"a"}]}`) ?? []
    if (key.includes('\\')) assert.equal(event, undefined, key)
    else assert.deepEqual([event?.ip, event?.extra], ['1.1.1.1', `{"${key}":"a"}`], key)
  }
})
