import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { BadRows } from '../../../../src/pipeline/sources/batch/commands/bad-rows.ts'
import { openSource, type SourceChoice } from '../../../../src/pipeline/sources/batch/commands/source-file.ts'
import { NoGoodRowsError } from '../../../../src/pipeline/sources/batch/files/event-file.ts'
import { InputError } from '../../../../src/run/errors.ts'
import type { CliContext } from '../../../../src/terminal/context.ts'

/** The lines sent from a file, and the lines not sent. */
async function read(content: string | Buffer, choice: Partial<SourceChoice> = {}, chunkBytes = 7) {
  const bytes = Buffer.from(content)
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, i) =>
    bytes.subarray(i * chunkBytes, (i + 1) * chunkBytes),
  )
  const context = { stdin: Readable.from(chunks, { objectMode: false }) } as unknown as CliContext
  const bad = new BadRows()
  const all = { map: new Map(), dateOrder: undefined, format: undefined, encoding: undefined, ...choice }
  const { body, gzip } = await openSource('-', all, context, () => {}, bad)
  const parts: Buffer[] = []
  for await (const part of body) parts.push(part)
  const sent = gzip ? gunzipSync(Buffer.concat(parts)).toString() : Buffer.concat(parts).toString()
  return { lines: sent.split('\n'), gzip, bad }
}

/** The events by line number, as an editor counts. */
async function events(content: string | Buffer, choice: Partial<SourceChoice> = {}, chunkBytes?: number) {
  const { lines, bad } = await read(content, choice, chunkBytes)
  const byLine = lines.flatMap((line, i) => (line === '' ? [] : [[i + 1, JSON.parse(line)]]))
  return { events: Object.fromEntries(byLine), bad: bad.errors.map(({ line, detail }) => `${line}: ${detail}`) }
}

const IP = '17.0.0.1'

test('delimiter, quotes and the case of the header are detected, however the file is cut', async () => {
  const files = [
    'IP,Event ID,TimeStamp,My Note\n17.0.0.1,e1,2026-11-22 08:00,"a, ""b"""\n',
    'sep=;\nip;event_id;timestamp;My Note\r\n17.0.0.1;e1;1795334400;"a, ""b"""\r\n',
    'ip\tevent-id\ttimestamp\tMy Note\n17.0.0.1\te1\t1795334400000\t\'a, "b"\'',
    '\ufeffip|event_id|timestamp|My Note|\n 17.0.0.1 | e1 | 2026/11/22 08:00:00 | "a, ""b""" |\n',
  ]
  for (const [i, file] of files.entries()) {
    for (const chunkBytes of [1, 7, 1_000]) {
      const found = await events(file, {}, chunkBytes)
      const [event] = Object.values(found.events) as Record<string, string>[]
      assert.deepEqual(found.bad, [])
      assert.deepEqual(
        [event!.ip, event!.event_id!.trim(), event!.timestamp, event!['My Note']],
        [IP, 'e1', '2026-11-22T08:00:00.000Z', 'a, "b"'],
        `file ${i}`,
      )
    }
  }
})

test('lines are numbered as in an editor, header and quoted line breaks included', async () => {
  const file = '\nip,note\n17.0.0.1,a\n\n17.0.0.2,"two\nlines, and\n""three"""\n17.0.0.3,c\n'
  const found = await events(file)
  assert.deepEqual(found.bad, [])
  assert.deepEqual(found.events, {
    3: { ip: '17.0.0.1', note: 'a' },
    5: { ip: '17.0.0.2', note: 'two\nlines, and\n"three"' },
    8: { ip: '17.0.0.3', note: 'c' },
  })
})

test('a bad row does not affect other rows', async () => {
  const rows = [
    'ip,timestamp,note',
    `${IP},,"never closed`,
    `${IP},,fine`,
    `${IP},01/02/2026,`,
    `${IP},,a,b,c`,
    `${IP},soon`,
    `${IP},,5" screen`,
    `${IP},,"x" y`,
    `${IP},,,,`,
    `${IP},,"open at the end`,
    `${IP},,last`,
  ]
  const found = await events(Buffer.concat([Buffer.from(rows.join('\n')), Buffer.from('\nM\xfcller\n', 'latin1')]))
  const fine = (note?: string) => ({ ip: IP, ...(note !== undefined && { note }) })
  assert.deepEqual(found.events, {
    3: fine('fine'),
    7: fine('5" screen'),
    8: fine('"x" y'),
    9: fine(),
    11: fine('last'),
  })
  assert.deepEqual(
    found.bad.map((text) => text.slice(0, 34)),
    [
      '2: has a quote that is not closed',
      '4: timestamp "01/02/2026" may be d',
      '5: has 5 fields, and the header 3',
      '6: timestamp "soon" is not a known',
      '10: has a quote that is not closed',
      '12: is not UTF-8: if the file has ',
    ],
  )
})

test('a quote that is never closed costs its row, also in a large file', async () => {
  const rows = Array.from({ length: 5_000 }, (_, i) => `${IP},row ${i}`)
  rows[10] = `${IP},"`
  const found = await events(`ip,note\n${rows.join('\n')}\n`, {}, 65_536)
  assert.deepEqual(found.bad, ['12: has a quote that is not closed'])
  assert.equal(Object.keys(found.events).length, 4_999)
})

test('a record of many quoted lines is one record, up to a thousand lines', async () => {
  const record = (lines: number) => `ip,note\n${IP},"${'""a"" and more\n'.repeat(lines - 1)}"\n${IP},b\n`
  const short = await events(record(200), {}, 65_536)
  assert.deepEqual([short.bad, Object.keys(short.events)], [[], ['2', '202']])
  const wide = await events(record(900).replaceAll('more', 'more'.repeat(250)), {}, 65_536)
  assert.deepEqual([wide.bad, Object.keys(wide.events)], [[], ['2', '902']])
  const long = await events(record(1_100), {}, 65_536)
  assert.match(long.bad[0]!, /^2: has a quote that is not closed/)
  assert.deepEqual(long.events[1_102], { ip: IP, note: 'b' })
})

test('--map renames columns and keys, and missing ones are listed', async () => {
  const map = new Map([['visitor_ip', 'ip']])
  assert.deepEqual((await events(`Visitor IP,b\n${IP},1\n`, { map })).events, { 2: { ip: IP, b: '1' } })
  const json = `{"visitor_ip": "${IP}", "n": 1.0, "big":12345678901234567890}\n{"ip":"x","visitor_ip":"y"}\n`
  const { lines, bad } = await read(json, { map })
  assert.equal(lines[0], `{"ip":"${IP}","n": 1.0,"big":12345678901234567890}`)
  assert.deepEqual(bad.errors, [{ line: 2, detail: 'has "ip" twice after renaming by --map' }])
  const refused: [file: string, map: ReadonlyMap<string, string>, message: RegExp][] = [
    ['visitor_ip,url\n1,2\n', new Map(), /no column "ip"; it has visitor_ip, url: .*--map 'visitor_ip=ip'/],
    ['{"addr":"x","b":1}\n', new Map(), /no event has the key "ip"; it has addr, b: .*--map 'addr=ip'/],
    ['a,b\n1,2\n', map, /--map names a column "visitor_ip"; the CSV header has a, b/],
    ['ip,visitor_ip\n1,2\n', map, /names "ip" twice/],
    ['[{"ip":"x"}]', new Map(), /is one JSON array.*jq -c/],
    ['PK\x03\x04more', new Map(), /Excel workbook/],
    ['ip,b\n', new Map(), /no events/],
    ['', new Map(), /is empty/],
  ]
  for (const [file, names, message] of refused) {
    await assert.rejects(
      read(file, { map: names }),
      (error) => error instanceof InputError && message.test(error.message),
    )
  }
})

test('NDJSON is unchanged except for its timestamps', async () => {
  const fine = [
    `{"ip":"${IP}","timestamp":"2026-11-22T08:00:00Z","x": 1.0}`,
    `{ "ip":"${IP}", "properties":{"timestamp":"2026-11-22T08:00:00Z","when":"01/02/2026"} }`,
    'not JSON, for the API to name',
  ]
  const changed = [
    `{"ip":"${IP}","timestamp": 1795334400,"x":[1.0, 2]}`,
    `{"properties":{"timestamp":"2026-11-22T08:00:00Z"},"timestamp":"2026-11-22 08:00","ip":"${IP}"}`,
    `{"ip":"${IP}","timestamp":"01/02/2026"}`,
  ]
  const { lines, bad } = await read([...fine, '', ...changed].join('\n'))
  assert.deepEqual(lines.slice(0, 4), [...fine, ''])
  assert.equal(lines[4], `{"ip":"${IP}","timestamp": "2026-11-22T08:00:00.000Z","x":[1.0, 2]}`)
  assert.match(
    lines[5]!,
    /^\{"properties":\{"timestamp":"2026-11-22T08:00:00Z"\},"timestamp":"2026-11-22T08:00:00.000Z"/,
  )
  assert.equal(lines[6], '')
  assert.deepEqual(
    bad.errors.map(({ line }) => line),
    [7],
  )
})

test('gzip and encodings are detected by content, and gzip is sent as gzip', async () => {
  const packed = await read(gzipSync(`ip,b\n${IP},ü\n`))
  assert.deepEqual([packed.gzip, packed.lines[1]], [true, `{"ip":"${IP}","b":"ü"}`])
  const wide = Buffer.from(`\ufeffip\tb\r\n${IP}\tü\r\n`, 'utf16le')
  assert.deepEqual((await events(wide)).events, { 2: { ip: IP, b: 'ü' } })
  const swapped = (bytes: Buffer) => Buffer.from(bytes).swap16()
  const bare = Buffer.from(`ip,b\n${IP},ü\n`, 'utf16le')
  for (const file of [swapped(wide), bare, swapped(bare), gzipSync(swapped(wide))]) {
    for (const chunkBytes of [1, 7])
      assert.deepEqual((await events(file, {}, chunkBytes)).events, { 2: { ip: IP, b: 'ü' } })
  }
  for (const mark of ['fffe0000', '0000feff', '00000069']) {
    await assert.rejects(
      read(Buffer.from(`${mark}${'69000000'.repeat(9)}`, 'hex')),
      /is UTF-32 or not text: save it as UTF-8/,
    )
  }
  const latin = Buffer.from(`ip;b\n${IP};ü\n`, 'latin1')
  assert.deepEqual((await events(latin, { encoding: 'windows-1252' })).events, { 2: { ip: IP, b: 'ü' } })
  const cutOff = gzipSync(`ip,b\n${`${IP},1\n`.repeat(9_999)}`).subarray(0, 60)
  await assert.rejects(read(cutOff), /gzip data is damaged or truncated/)
  await assert.rejects(read(latin.subarray(0, 8 + IP.length)), NoGoodRowsError)
})

test('lines may end with carriage returns only, as on old Macs', async () => {
  const csv = `ip,b\r${IP},1\r\r${IP},"two\rlines"\r${IP},3`
  const row = (b: string) => ({ ip: IP, b })
  for (const chunkBytes of [1, 7, 1_000]) {
    const found = await events(csv, {}, chunkBytes)
    assert.deepEqual(found.events, { 2: row('1'), 4: row('two\nlines'), 6: row('3') })
    const json = await events(`{"ip":"${IP}","b":"1"}\r{"ip":"${IP}","b":"2"}\r`, {}, chunkBytes)
    assert.deepEqual(json.events, { 1: row('1'), 2: row('2') })
    const wide = await events(Buffer.from(`\ufeff${csv}`, 'utf16le').swap16(), {}, chunkBytes)
    assert.deepEqual(wide.events, found.events)
  }
  // With line feeds in the file, a return is a part of its line.
  assert.deepEqual((await events(`ip,b\n${IP},"1\r2"\n`)).events, { 2: row('1\r2') })
})
