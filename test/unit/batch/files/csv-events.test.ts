import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Advice } from '../../../../src/pipeline/sources/batch/files/conversion.ts'
import { openEventFile } from '../../../../src/pipeline/sources/batch/files/event-file.ts'
import { previewFile } from '../../../../src/pipeline/sources/batch/files/preview.ts'

const advice: Advice = { map: 'the mapping', address: String, dateOrder: '', encoding: '' }
const choice = {
  format: 'csv',
  encoding: undefined,
  dateOrder: undefined,
  map: new Map<string, string>(),
  advice,
} as const

function previewOf(text: string, other: { format?: 'ndjson' | 'csv' } = {}) {
  return previewFile('x.csv', Buffer.from(text), { ...choice, isWhole: true, guesses: true, ...other }, () => [])
}

async function eventsOf(text: string, map = choice.map, format: 'csv' | 'ndjson' = 'csv'): Promise<string[]> {
  async function* source() {
    yield Buffer.from(text)
  }
  const { events } = await openEventFile('x.csv', source(), { ...choice, format, map })
  const pieces: Buffer[] = []
  for await (const piece of events(({ reason }) => reason)) pieces.push(piece)
  return Buffer.concat(pieces).toString().split('\n')
}

test('the separator that a file names is used', async () => {
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

// Each of them took minutes and blocked the process.
const HANG = { timeout: 30_000 }

test('a header is checked against its limits before a row is read, in the preview too', HANG, async () => {
  const names = (count: number, chars = 1) => Array.from({ length: count }, (_, i) => `c${i}`.padEnd(chars, 'x'))
  const refused: [header: string, message: RegExp][] = [
    [['ip', 'a'.repeat(1_000_000)].join(), /^column 2 of the CSV header, "a{80}…", has a name of 1000000 characters/],
    [
      ['ip', 'a'.repeat(257)].join(),
      /^column 2 of the CSV header, "a{80}…", has a name of 257 characters, more than 256/,
    ],
    [['ip', ...names(130_000)].join(), /^the CSV header has 130001 columns, more than 2000: leave out some$/],
    [['ip', ...names(300, 250)].join(), /^the CSV header has 75303 characters, more than 65536: shorten the names$/],
  ]
  for (const [header, message] of refused) {
    const file = `${header}\n${'192.0.2.1,x\n'.repeat(6_000)}`
    await assert.rejects(eventsOf(file), (error: Error) => message.test(error.message))
    // The beginning of the header, when it is longer than the part that is read.
    const preview = await previewOf(file)
    assert.match(preview.problem!, /^(column 2 of )?the CSV header/)
    assert.ok(preview.problem!.length < 200)
    assert.deepEqual([preview.rows, preview.columns], [[], []])
  }
  const columns = ['ip', ...names(1_999)]
  const events = await eventsOf([columns.join(), ...Array(30_000).fill('192.0.2.1'), ''].join('\n'))
  assert.equal(events.filter((event) => event === '{"ip":"192.0.2.1"}').length, 30_000)
})

test('a message shows the first names of a file, and the beginning of each', async () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `c${i}${'x'.repeat(40)}`)
  await assert.rejects(eventsOf(`${names.join()}\n1\n`), (error: Error) => {
    assert.match(error.message, /c19x+, 980 more: say which is the address/)
    return error.message.length < 2_000
  })
  const json = JSON.stringify(Object.fromEntries(names.map((name) => [name.repeat(3), 1])))
  const preview = await previewOf(`${json.slice(0, 60_000)}`.replace(/,[^,]*$/, '}\n'), { format: 'ndjson' })
  assert.match(preview.problem!, /no event has the key "ip"; it has c0[^,]+…, c1.*, \d+ more: say which/)
  assert.ok(preview.problem!.length < 2_500)
})

test('a mapping of many columns is checked once, and not per column', HANG, async () => {
  const columns = Array.from({ length: 2_000 }, (_, i) => `c${i}`)
  const map = new Map(columns.map((name, i) => [name, i === 0 ? 'ip' : '']))
  const events = await eventsOf(`${columns.join()}\n192.0.2.1,x\n`, map)
  assert.deepEqual(events, ['', '{"ip":"192.0.2.1"}', ''])
})

test('events are passed on in pieces, however much a few bytes expand to', async () => {
  const names = Array.from({ length: 240 }, (_, i) => `c${i}`.padEnd(250, 'x'))
  const rows = `192.0.2.1${',x'.repeat(240)}\n`.repeat(400)
  const pieces: number[] = []
  async function* source() {
    yield Buffer.from(`ip,${names.join()}\n${rows}`)
  }
  for await (const piece of (await openEventFile('x.csv', source(), choice)).events(() => '')) pieces.push(piece.length)
  const row = 240 * 258
  assert.ok(pieces.reduce((sum, bytes) => sum + bytes) > 400 * 60_000)
  assert.ok(Math.max(...pieces) < 65_536 + row, `${Math.max(...pieces)} bytes at once`)
})

test('a row that becomes longer than a line may be is rejected', async () => {
  const map = new Map(Array.from({ length: 1_000 }, (_, i) => [`c${i}`, `c${i}`.padEnd(250, 'x')]))
  const long = `"${'\u0001'.repeat(200_000)}"`
  assert.deepEqual(await eventsOf(`ip,a\n192.0.2.1,${long}\n192.0.2.2,x\n`), [
    '',
    'becomes longer than 1048576 bytes as NDJSON',
    '{"ip":"192.0.2.2","a":"x"}',
    '',
  ])
  const values = Object.fromEntries([...map.keys()].map((key) => [key, 'x'.repeat(900)]))
  const line = JSON.stringify({ ip: '192.0.2.1', ...values })
  const events = await eventsOf(`${line}\n{"ip":"192.0.2.2","c0":1}\n`, map, 'ndjson')
  assert.deepEqual(events, [
    'becomes longer than 1048576 bytes as NDJSON',
    `{"ip":"192.0.2.2",${JSON.stringify(map.get('c0'))}:1}`,
    '',
  ])
})

test('a preview is read in slices, stops when it has enough rows, and cuts long texts', async () => {
  const names = Array.from({ length: 240 }, (_, i) => `c${i}`.padEnd(250, 'x'))
  const file = `ip,${names.join()}\n${`192.0.2.1${',x'.repeat(240)}\n`.repeat(8_000)}`
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const { sample, rows } = await previewOf(file)
  isDone = true
  assert.equal(rows.length, 20)
  assert.ok(turns >= 8, `${turns} turns`)
  assert.ok(sample.eventBytes > 4_000_000 && sample.eventBytes < 6_000_000, `${sample.eventBytes} bytes of events`)
  assert.ok(sample.plainBytes < 200_000 && sample.bytes === sample.plainBytes)
  const bad = await previewOf(`ip,timestamp\n192.0.2.1,${'9'.repeat(100_000)}\n${'x'.repeat(100_000)},\n`)
  assert.ok(bad.rows.length === 2 && bad.rows.every(({ problem }) => problem!.length < 200))
})

test('quotes that are never closed cost only their bytes, wherever they are', HANG, async () => {
  const header = `ip${Array.from({ length: 900 }, (_, i) => `,c${i}`).join('')}`
  // Each line ends a field and opens the next one, so that every record seems to go on.
  const growing = eventsOf(`${header}\n"a\n${'","b\n'.repeat(300_000)}192.0.2.2\n`)
  await assert.rejects(growing, /no row is readable \(30000[12] bad\); line 2 has a quote that is not closed/)
  const doubled = await eventsOf(`ip,a\n"\n${'""\n'.repeat(300_000)}192.0.2.2\n`)
  assert.equal(doubled.at(-2), '{"ip":"192.0.2.2"}')
})

test('spaces as separators cost only their bytes', HANG, async () => {
  const spaces = ' '.repeat(1_000_000)
  assert.equal(
    (await eventsOf(`sep= \nip event_type\n192.0.2.1${spaces}"x"\n192.0.2.2 x\n`))[3],
    '{"ip":"192.0.2.2","event_type":"x"}',
  )
})

test('valid JSON goes into an event unchanged, and other text as a string', async () => {
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
  const rows: [properties: string, value: string][] = [
    ['{"id":12345678901234567891,"n":1.0,"b":1,"a":2}', '{"id":12345678901234567891,"n":1.0,"b":1,"a":2}'],
    [' [1e400,\n  "\\u0041"] ', '[1e400,   "\\u0041"]'],
    ['{"a":1,"a":2,"__proto__":3}', '{"a":1,"a":2,"__proto__":3}'],
    ['0.10', '0.10'],
    ['{"a":', '"{\\"a\\":"'],
    ['[', '"["'],
  ]
  for (const name of ['properties', 'user_properties']) {
    const lines = rows.map(([text]) => `192.0.2.1,${cell(text)}`)
    const events = await eventsOf(`ip,${name}\n${lines.join('\n')}\n`)
    assert.deepEqual(
      events.filter((event) => event !== ''),
      rows.map(([, value]) => `{"ip":"192.0.2.1","${name}":${value}}`),
    )
  }
  assert.equal((await eventsOf('ip,session_id\n192.0.2.1,-007\n'))[1], '{"ip":"192.0.2.1","session_id":-7}')
})

test('a column may have any name, also names of object members', async () => {
  const file = 'ip,__proto__,constructor,toString\n192.0.2.1,a,b,c\n'
  const event = '{"ip":"192.0.2.1","__proto__":"a","constructor":"b","toString":"c"}'
  assert.equal((await eventsOf(file))[1], event)
  const preview = await previewOf(file)
  assert.equal(preview.rows[0]!.event, event)
  const named = [
    { name: 'ip', key: 'ip', values: ['192.0.2.1'] },
    { name: '__proto__', key: '__proto__', values: ['a'] },
    { name: 'constructor', key: 'constructor', values: ['b'] },
    { name: 'toString', key: 'toString', values: ['c'] },
  ]
  assert.deepEqual(preview.columns, named)
  const json = await previewOf(`{"ip":"x","n":1}\n${event}\n`, { format: 'ndjson' })
  const n = { name: 'n', key: 'n', values: ['1'] }
  const [ip, ...others] = named
  assert.deepEqual(json.columns, [{ ...ip, values: ['x', '192.0.2.1'] }, n, ...others])
  const map = new Map([
    ['__proto__', 'ip'],
    ['ip', ''],
  ])
  assert.equal((await eventsOf(file, map))[1], '{"ip":"a","constructor":"b","toString":"c"}')
})

test('JSON of a file that is nested too deep is never parsed', async () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const csv = `ip,properties\n192.0.2.1,${nested(127)}\n192.0.2.2,${nested(128)}\n192.0.2.3,[[\n`
  assert.deepEqual(await eventsOf(csv), [
    '',
    `{"ip":"192.0.2.1","properties":${nested(127)}}`,
    'is nested more than 128 levels deep',
    '{"ip":"192.0.2.3","properties":"[["}',
    '',
  ])
  // The API must report it.
  const line = `{"address":"192.0.2.1","x":${nested(400_000)}}`
  const map = new Map([['address', 'ip']])
  assert.deepEqual(await eventsOf(`${line}\n{"address":"192.0.2.1"}\n`, map, 'ndjson'), [
    line,
    '{"ip":"192.0.2.1"}',
    '',
  ])
  const { rows } = await previewOf(`{"ip":"192.0.2.1"}\n{"ip":"192.0.2.1","x":${nested(100_000)}}\n`, {
    format: 'ndjson',
  })
  assert.deepEqual(
    rows.map(({ problem }) => problem),
    [undefined, 'is nested more than 128 levels deep'],
  )
})

interface Read {
  readonly text: string
  readonly events: readonly string[]
}

const READ: Readonly<Record<string, Read>> = {
  'NULL as databases export it': {
    text: 'ip,account_id,session_id,properties\n17.0.0.8,\\N,\\N,\\N\n17.0.0.9, \\N ,"\\N",\\N\n17.0.0.10,\\Nord,7,"\\N"\n',
    events: ['{"ip":"17.0.0.8"}', '{"ip":"17.0.0.9"}', '{"ip":"17.0.0.10","account_id":"\\\\Nord","session_id":7}'],
  },
  'NULL in a file with tabs': {
    text: 'ip\taccount_id\tplatform\n17.0.0.8\t\\N\tweb\n',
    events: ['{"ip":"17.0.0.8","platform":"web"}'],
  },
  'NULL in a record of two lines': {
    text: 'ip,note,account_id\n17.0.0.8,"two\nlines",\\N\n',
    events: ['{"ip":"17.0.0.8","note":"two\\nlines"}'],
  },
  'an export of ClickHouse': {
    text: '"ip","timestamp","session_id","account_id"\n"17.0.0.8","2026-11-22 08:00:00.123",7,"acme"\n"17.0.0.9","2026-11-22 08:00:00.000",\\N,""\n',
    events: [
      '{"ip":"17.0.0.8","timestamp":"2026-11-22T08:00:00.123Z","session_id":7,"account_id":"acme"}',
      '{"ip":"17.0.0.9","timestamp":"2026-11-22T08:00:00.000Z"}',
    ],
  },
  'a session that a program made a fraction': {
    text: 'ip,session_id\n17.0.0.8,123.0\n17.0.0.9,1.5\n',
    events: ['{"ip":"17.0.0.8","session_id":123}', '{"ip":"17.0.0.9","session_id":"1.5"}'],
  },
  'arrays and maps of ClickHouse': {
    text: `ip,properties,user_properties
17.0.0.8,"{'plan':'pro','it\\'s':'a\\\\b\\n','n':7,'none':NULL}","['a','\\x41é',[1,2.5e-3],true]"
17.0.0.9,"[('a',1),('b',-2)]","{1:{'x':'[:,'}}"
`,
    events: [
      '{"ip":"17.0.0.8","properties":{"plan":"pro","it\'s":"a\\\\b\\n","n":7,"none":null},"user_properties":["a","Aé",[1,2.5e-3],true]}',
      '{"ip":"17.0.0.9","properties":[["a",1],["b",-2]],"user_properties":{"1":{"x":"[:,"}}}',
    ],
  },
  'text that only looks like one of ClickHouse': {
    text: `ip,properties\n17.0.0.8,{'a':nope}\n17.0.0.9,"['a'"\n17.0.0.10,"{'a'}"\n17.0.0.11,"['a"\n`,
    events: [
      `{"ip":"17.0.0.8","properties":"{'a':nope}"}`,
      `{"ip":"17.0.0.9","properties":"['a'"}`,
      `{"ip":"17.0.0.10","properties":"{'a'}"}`,
      `{"ip":"17.0.0.11","properties":"['a"}`,
    ],
  },
  'the other keys of an event': {
    text: 'ip,extra,page_url\n17.0.0.8,"{""url"":""https://x.example/a"",""n"":1.0}",c\n17.0.0.9,{},\n17.0.0.10,more,\n17.0.0.11,"{""n"":1,""ip"":""9.9.9.9""}",\n17.0.0.12,"{""page_url"":""b""}",c\n',
    events: [
      '{"ip":"17.0.0.8","url":"https://x.example/a","n":1.0,"page_url":"c"}',
      '{"ip":"17.0.0.9"}',
      '{"ip":"17.0.0.10","extra":"more"}',
      // A column of somebody else keeps what it has.
      String.raw`{"ip":"17.0.0.11","extra":"{\"n\":1,\"ip\":\"9.9.9.9\"}"}`,
      String.raw`{"ip":"17.0.0.12","extra":"{\"page_url\":\"b\"}","page_url":"c"}`,
    ],
  },
  'columns that mean nothing to an event': {
    text: 'ip,tenant_id,company,grid\n17.0.0.8,demo,12345678901234567890,1.5E+3\n',
    events: ['{"ip":"17.0.0.8","tenant_id":"demo","company":"12345678901234567890","grid":"1.5E+3"}'],
  },
  'ids that only look rounded': {
    text: 'ip,event_id,account_id,user_id\n17.0.0.8,3E8,1.5e,9E+15\n17.0.0.9,1795330000000000,v1.2e5,-\n',
    events: [
      '{"ip":"17.0.0.8","event_id":"3E8","account_id":"1.5e","user_id":"9E+15"}',
      '{"ip":"17.0.0.9","event_id":"1795330000000000","account_id":"v1.2e5","user_id":"-"}',
    ],
  },
}

for (const [what, { text, events }] of Object.entries(READ)) {
  test(`a CSV file is read: ${what}`, async () => {
    assert.deepEqual(
      (await eventsOf(text)).filter((event) => event !== ''),
      events,
    )
    const { rows } = await previewOf(text)
    assert.deepEqual(
      rows.map(({ event }) => event),
      events,
    )
  })
}

test('NDJSON of ClickHouse is read: a session may be NULL, or text', async () => {
  const session = (value: string) => `{"ip":"17.0.0.8","timestamp":"2026-11-22T08:00:00Z","session_id":${value}}`
  const lines = ['7', '"7"', 'null', '"-9007199254740991"', '"x"', '{"a":"7"}'].map(session)
  assert.deepEqual(await eventsOf(`${lines.join('\n')}\n`, choice.map, 'ndjson'), [
    session('7'),
    session('7'),
    '{"ip":"17.0.0.8","timestamp":"2026-11-22T08:00:00Z"}',
    session('-9007199254740991'),
    session('"x"'),
    session('{"a":"7"}'),
    '',
  ])
})

test('an id that a spreadsheet rounded is refused', async () => {
  const rows: [column: string, text: string, named?: string][] = [
    ['event_id', '1.79533E+15'],
    ['session_id', '1.79533E+15'],
    ['account_id', '1.23457E+11'],
    ['Event ID', '9E+15', 'event_id'],
    ['account_id', '-1.2e+017'],
    ['event_id', '1.795330000001e15'],
    ['account_id', ' 1.79533E+15 '],
    ['event_id', '"1,79533E+15"'],
  ]
  for (const [column, text, named = column] of rows) {
    const file = `ip,${column}\n17.0.0.8,${text}\n17.0.0.9,x\n`
    const reason = `${named} was rounded by a spreadsheet: export the column as text`
    const [, bad, good] = await eventsOf(file)
    assert.deepEqual([bad, good], [reason, `{"ip":"17.0.0.9","${named}":"x"}`])
    const [row] = (await previewOf(file)).rows
    assert.match(row!.problem!, /^[\w ]+ " ?-?\d[\d.,]*[eE]\+?\d+ ?" was rounded by a spreadsheet/)
  }
})

test('a comment before the header is named in the error', async () => {
  for (const comment of ['# exported by X', '#id,when', '// visits of November', '-- psql', '% matrix']) {
    const named = JSON.stringify(comment)
    const message = `the CSV header has no column "ip": line 3, ${named}, is a comment. Delete the lines before the header`
    const file = `\n\n${comment}\nip,account_id\n17.0.0.8,a\n`
    await assert.rejects(eventsOf(file), { name: 'InputError', message })
    assert.equal((await previewOf(file)).problem, message)
  }
  await assert.rejects(eventsOf('Report\nip,account_id\n17.0.0.8,a\n'), /has no column "ip"; it has Report: say which/)
  assert.equal((await eventsOf('#,ip\n1,17.0.0.8\n'))[1], '{"#":"1","ip":"17.0.0.8"}')
})

test('an array of ClickHouse that is nested too deep, or never ends, costs only its bytes', HANG, async () => {
  const deep = `['a',${'('.repeat(500_000)}`
  const closed = `['a',${'('.repeat(200)}${')'.repeat(200)}]`
  const open = `['${"\\'".repeat(200_000)}`
  for (const text of [deep, closed, open]) {
    const [, event] = await eventsOf(`ip;properties\n17.0.0.8;${text}\n`)
    assert.equal(event, `{"ip":"17.0.0.8","properties":${JSON.stringify(text)}}`)
  }
})
