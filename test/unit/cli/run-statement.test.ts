import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { runStatement } from '../../../src/cli/sql.ts'

const EVIL = 'a\u001b]0;owned\u0007\r\nb\u009b31m\u202ec'

/** The output of `ipid sql` for an answer. */
async function printed(
  t: TestContext,
  answer: string,
  { format = 'PrettyCompact' as string | null, json = false, isTTY = false } = {},
): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, format === null ? {} : { 'x-clickhouse-format': format }).end(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const written: string[] = []
  const write = (chunk: string | Uint8Array) => written.push(Buffer.from(chunk as string).toString()) > 0
  const out = { write, isTTY } as unknown as NodeJS.WritableStream
  await runStatement(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'SELECT 1', json, out)
  return written.join('')
}

test('a result without rows says so; a statement without a result prints nothing', async (t) => {
  assert.equal(await printed(t, ''), '0 rows\n')
  assert.equal(await printed(t, '', { format: 'CSV' }), '')
  assert.equal(await printed(t, '', { format: null }), '')
  assert.equal(await printed(t, '', { format: null, json: true }), '{"meta":[],"data":[],"rows":0}\n')
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
})
