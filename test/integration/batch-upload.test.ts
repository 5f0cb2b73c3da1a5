import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { runCommand } from '../support/command.ts'

/** An API that takes uploads. The job is in the state that `job` returns. */
async function startApi(t: TestContext, job: () => object) {
  const bodies: string[] = []
  let asked = 0
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (data) => {
      body += data
    })
    request.on('end', () => {
      if (request.method === 'POST') bodies.push(body)
      else asked++
      const answer = request.method === 'POST' ? { job_id: 'j1', status: 'queued', received: 2 } : job()
      response.writeHead(request.method === 'POST' ? 202 : 200).end(JSON.stringify(answer))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, bodies, asked: () => asked }
}

const running = { job_id: 'j1', status: 'running', progress_current: 1, progress_total: 2, result_summary: null }
const summary = {
  processed: 2,
  valid_ips: 0,
  identified_ips: 0,
  rejected: 1,
  invalid_ip: 1,
  filtered: 0,
  duplicates: 0,
}
const useless = { ...running, status: 'completed', result_summary: { ...summary, errors: [] } }
const CSV = 'ip,b\n17.0.0.1,1\n17.0.0.2,2\n'
const env = { IPID_API_KEY: 'k' }
/** The escape sequences that hide and show a terminal's cursor. */
const HIDE = '\x1b[?25l'
const SHOW = '\x1b[?25h'

test('Ctrl-C lets the job continue, says how to see it again, and restores the cursor', async (t) => {
  const api = await startApi(t, () => running)
  const stop = new AbortController()
  let printed = ''
  const result = await runCommand(['batch', 'upload', '-', '--url', api.url, '--wait'], {
    env,
    stdin: [CSV],
    stop: stop.signal,
    columns: 60,
    onError(text) {
      printed += text
      // The progress bar of the job shows: the upload is done.
      if (printed.includes('processing') && api.asked() > 0) stop.abort()
    },
  })
  assert.equal(result.code, 130, result.stderr)
  assert.match(result.stderr, /job j1: 2 events are queued/)
  assert.match(result.stderr, /the job continues; follow it with: \.\/ipid batch show j1\n$/)
  assert.ok(result.stderr.includes(HIDE))
  assert.ok(result.stderr.lastIndexOf(SHOW) > result.stderr.lastIndexOf(HIDE))
})

test('Ctrl-C while the file is read ends the upload', async (t) => {
  const api = await startApi(t, () => running)
  const stop = new AbortController()
  async function* endless() {
    yield Buffer.from(CSV.repeat(4_000))
    stop.abort()
    await new Promise(() => {})
  }
  const result = await runCommand(['batch', 'upload', '-', '--url', api.url], {
    env,
    stdin: endless(),
    stop: stop.signal,
  })
  assert.equal(result.code, 130)
  assert.match(result.stderr, /upload cancelled: nothing of - was stored\n$/)
  assert.deepEqual(api.bodies, [])
})

test('the exit code is 1 when every row was rejected, by the command or by the server', async (t) => {
  const api = await startApi(t, () => useless)
  const upload = (stdin: string, ...flags: string[]) =>
    runCommand(['batch', 'upload', '-', '--url', api.url, ...flags], { env, stdin: [stdin] })
  const there = await upload(CSV, '--wait', '--json')
  assert.equal(there.code, 1)
  assert.equal(JSON.parse(there.stdout).result_summary.rejected, 1)
  const here = await upload('ip,timestamp\n17.0.0.1,01/02/2026\n17.0.0.1,soon\n')
  assert.equal(here.code, 1)
  assert.match(
    here.stdout,
    /^unreadable +2\nline 2: timestamp "01\/02\/2026" may be day or month.*\nline 3: timestamp "soon"/m,
  )
  assert.equal(api.bodies.length, 1)
})

test('with --wait the exit code is 1 when a row was rejected, by the command or by the server, unless that is allowed', async (t) => {
  const good = { ...summary, processed: 2, valid_ips: 2, rejected: 0, invalid_ip: 0, errors: [] }
  let counts = {}
  const api = await startApi(t, () => ({ ...running, status: 'completed', result_summary: { ...good, ...counts } }))
  const upload = async (stdin: string, ...flags: string[]) => {
    const args = ['batch', 'upload', '-', '--url', api.url, '--wait', ...flags]
    const { code, stderr } = await runCommand(args, { env, stdin: [stdin] })
    return [code, /^ipid: .*/m.exec(stderr)?.[0]]
  }
  const line = (text: string) => [1, `ipid: ${text} rejected: exit code 1, unless --allow-rejected is given`]
  assert.deepEqual(await upload(CSV), [0, undefined])
  const unreadable = 'ip,timestamp\n17.0.0.1,1795334400\n17.0.0.2,01/02/2026\n'
  assert.deepEqual(await upload(unreadable), line('1 line was'))
  assert.deepEqual(await upload(unreadable, '--allow-rejected'), [0, undefined])
  counts = { valid_ips: 0, rejected: 1, invalid_ip: 1, processed: 3 }
  assert.deepEqual(await upload(CSV), line('2 lines were'))
  assert.deepEqual(await upload(CSV, '--allow-rejected', '--json'), [0, undefined])
})

test('unreadable rows are counted beside the rows that were sent', async (t) => {
  const api = await startApi(t, () => running)
  const stdin = ['visitor_ip,timestamp\n17.0.0.1,1795334400\n17.0.0.2,01/02/2026\n']
  const args = ['batch', 'upload', '-', '--url', api.url, '--map', 'visitor_ip=ip']
  const result = await runCommand(args, { env, stdin })
  assert.equal(result.code, 0, result.stderr)
  assert.match(
    result.stdout,
    /^job +j1$[\s\S]*^unreadable +1\nline 3: .*\n\nfollow it with: \.\/ipid batch show j1\n$/m,
  )
  assert.deepEqual(api.bodies, ['\n{"ip":"17.0.0.1","timestamp":"2026-11-22T08:00:00.000Z"}\n\n'])
  for (const flags of [
    ['--map', 'ip'],
    ['--date-order', 'ymd'],
    ['--encoding', 'klingon'],
    ['--format', 'xml'],
  ]) {
    const refused = await runCommand([...args, ...flags], { env, stdin })
    assert.deepEqual([refused.code, refused.stdout], [2, ''])
    assert.ok(refused.stderr.startsWith(`ipid: ${flags[0]} "${flags[1]}": must be `), refused.stderr)
  }
})
