import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { TABLE_FORMAT } from '../../../src/cli/result-table.ts'
import { runStatement } from '../../../src/cli/run-statement.ts'

const EVIL = 'a\u001b]0;owned\u0007\r\nb\u009b31m\u202ec'
const SHOWN = 'a\\u001b]0;owned\\u0007\\r\\nb\\u009b31m\\u202ec'

/** The output of `ipid sql` for an answer. */
async function printed(
  t: TestContext,
  answer: string | readonly object[],
  { format = TABLE_FORMAT as string, json = false, isTTY = false, statement = 'SELECT 1' } = {},
): Promise<string> {
  const body = typeof answer === 'string' ? answer : answer.map((line) => `${JSON.stringify(line)}\n`).join('')
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'x-clickhouse-format': format }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const written: string[] = []
  const write = (chunk: string | Uint8Array) => written.push(Buffer.from(chunk as string).toString()) > 0
  const out = { write, isTTY } as unknown as NodeJS.WritableStream
  await runStatement(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, statement, json, out)
  return written.join('')
}

const meta = (...columns: readonly (readonly [name: string, type: string])[]) => ({
  meta: columns.map(([name, type]) => ({ name, type })),
})

test('a result is a table: one line per row, numbers right-aligned, no control characters', async (t) => {
  const rows = [{ row: ['1', EVIL] }, { progress: { read_rows: '2' } }, { row: ['20', '日本'] }]
  const text = await printed(t, [meta(['n', 'UInt64'], [EVIL, 'String']), ...rows, { totals: ['21', ''] }])
  assert.equal(
    text,
    [
      `   ┌──n─┬─${SHOWN}─┐`,
      `1. │  1 │ ${SHOWN} │`,
      `2. │ 20 │ 日本${' '.repeat(SHOWN.length - 4)} │`,
      `   └────┴─${'─'.repeat(SHOWN.length)}─┘`,
      '',
      'Totals:',
      `   ┌──n─┬─${SHOWN}─┐`,
      `1. │ 21 │ ${' '.repeat(SHOWN.length)} │`,
      `   └────┴─${'─'.repeat(SHOWN.length)}─┘`,
      '',
    ].join('\n'),
  )
})

test('a result without rows has its headings; a statement without a result prints nothing', async (t) => {
  assert.equal(await printed(t, [meta(['one', 'UInt8'], ['b', 'String'])]), '   ┌─one─┬─b─┐\n   └─────┴───┘\n0 rows\n')
  assert.equal(await printed(t, ''), '')
  assert.equal(await printed(t, '', { format: 'JSON', json: true }), '{"meta":[],"data":[],"rows":0}\n')
})

test('few wide rows are shown one column per line', async (t) => {
  const columns = Array.from({ length: 5 }, (_, i) => [`c${i}`, 'String'] as const)
  const row = columns.map(([name]) => `${name}\n${'x'.repeat(60)}`)
  const lines = (await printed(t, [meta(...columns), { row }])).split('\n')
  assert.deepEqual(lines.slice(0, 3), ['Row 1:', '──────', `c0: c0\\n${'x'.repeat(60)}`])
  assert.equal(lines.length, 8)
})

test('all rows of a long result are shown, a thousand per table, so few are in memory', async (t) => {
  const rows = Array.from({ length: 2_500 }, (_, i) => ({ row: [String(i)] }))
  const lines = (await printed(t, [meta(['n', 'UInt64']), ...rows])).trimEnd().split('\n')
  assert.equal(lines.filter((line) => line.includes('┌')).length, 3)
  assert.deepEqual(
    lines.flatMap((line) => /^ *(\d+)\. │ +(\d+) │$/.exec(line)?.slice(1).map(Number) ?? []),
    rows.flatMap((_, i) => [i + 1, i]),
  )
})

test('a FORMAT of the statement is passed to a program, and cannot control a terminal', async (t) => {
  const shown = 'a\\u001b]0;owned\\u0007\\u000d\nb\\u009b31m\\u202ec'
  assert.equal(await printed(t, EVIL, { format: 'TabSeparated' }), EVIL)
  assert.equal(await printed(t, EVIL, { format: 'TabSeparated', isTTY: true }), shown)
  assert.equal(await printed(t, EVIL, { format: 'PrettyCompact' }), shown)
  assert.equal(await printed(t, EVIL, { format: 'JSON', json: true }), EVIL)
  const json = JSON.stringify({ a: 'x\u009b' })
  const onTerminal = await printed(t, json, { format: 'JSON', json: true, isTTY: true })
  assert.deepEqual([onTerminal, JSON.parse(onTerminal)], ['{"a":"x\\u009b"}', { a: 'x\u009b' }])
  const own = `${JSON.stringify(meta(['n', 'String']))}\n`
  assert.equal(await printed(t, own, { statement: `SELECT 1 FORMAT ${TABLE_FORMAT}` }), own)
})
