import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { runStatement } from '../../../src/cli/admin/run-statement.ts'
import { printJson, printLine, printPairs, printTable } from '../../../src/cli/print.ts'

const EVIL = 'a\u001b]0;owned\u0007\r\nb\u009b31m\u202ec'
const SHOWN = 'a\\u001b]0;owned\\u0007\\r\\nb\\u009b31m\\u202ec'

/** What a stream is given. */
function sink() {
  const written: string[] = []
  const write = (chunk: string | Uint8Array) => written.push(Buffer.from(chunk as string).toString()) > 0
  return { out: { write } as unknown as NodeJS.WritableStream, text: () => written.join('') }
}

test('a text from outside is on one line, and a terminal obeys nothing of it; JSON has it as it is', () => {
  const { out, text } = sink()
  printLine(out, EVIL)
  printPairs(out, [[EVIL, EVIL]])
  printTable(out, ['ID'], [[EVIL]])
  assert.equal(text(), `${SHOWN}\n${SHOWN}   ${SHOWN}\nID\n${SHOWN}\n`)
  const json = sink()
  printJson(json.out, { id: EVIL })
  assert.deepEqual(JSON.parse(json.text()), { id: EVIL })
})

test('a result of ipid sql for people has no controls; a format for programs stays as it is', async (t) => {
  let format = 'PrettyCompactMonoBlock'
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'x-clickhouse-format': format }).end(`${EVIL}\n`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const run = async (json: boolean) => {
    const { out, text } = sink()
    await runStatement(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'SELECT 1', json, out)
    return text()
  }
  assert.equal(await run(false), `a\\u001b]0;owned\\u0007\\u000d\nb\\u009b31m\\u202ec\n`)
  format = 'TabSeparated'
  assert.equal(await run(false), `${EVIL}\n`)
  format = 'JSON'
  assert.equal(await run(true), `${EVIL}\n`)
})
