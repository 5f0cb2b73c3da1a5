import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { atEnd } from '../support/at-end.ts'
import { type CommandOptions, runCommand } from '../support/command.ts'
import { startInstance } from '../support/instance.ts'
import { until } from '../support/until.ts'

const MAIN = fileURLToPath(new URL('../../src/ipid.mjs', import.meta.url))
const KEY = `src_${'0a'.repeat(20)}`

interface StubEvent {
  readonly event_id: string
  readonly ip?: string
  readonly url: string
}

/** A source of kind http that keeps accepted events, like the API: an event with a known id is a repeat. */
async function stub(t: TestContext) {
  const byId = new Map<string, StubEvent>()
  const requests: string[] = []
  /** Answers about jobs by id; the last one is repeated. */
  const jobs = new Map<string, object[]>()
  /** Answers for the next requests; 200 when there is none. */
  const answers: { status: number; headers?: Record<string, string>; keeps?: boolean; body?: object }[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      requests.push(request.url!)
      const job = new URL(request.url!, 'http://stub').searchParams.get('job')
      if (job !== null) {
        const [answer = {}] = jobs.get(job) ?? []
        if ((jobs.get(job)?.length ?? 0) > 1) jobs.get(job)!.shift()
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
        return
      }
      const { status, headers = {}, keeps = false, body = {} } = answers.shift() ?? { status: 200, keeps: true }
      if (keeps) {
        const lines = gunzipSync(Buffer.concat(parts)).toString('utf8').split('\n')
        for (const event of lines.map((line) => JSON.parse(line) as StubEvent)) byId.set(event.event_id, event)
      }
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const pages = () => [...byId.values()].map((event) => event.url).sort()
  return { url, byId, requests, answers, jobs, pages }
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'ipid-sync-'))
  atEnd(t, () => rmSync(path, { recursive: true, force: true }))
  return path
}

let next = 0

/** Lines of the combined format, with pages that no other line has. */
function lines(count: number): { readonly text: string; readonly pages: readonly string[] } {
  const pages = Array.from({ length: count }, () => `/page-${String(next++).padStart(6, '0')}`)
  const text = pages.map(
    (page) => `203.0.113.7 - - [26/Nov/2026:12:00:00 +0000] "GET ${page} HTTP/1.1" 200 5 "-" "agent"\n`,
  )
  return { text: text.join(''), pages }
}

async function sync(dir: string, url: string, args: readonly string[], options: CommandOptions = {}) {
  const given = ['sync', '--source', KEY, '--url', url, '--data-dir', join(dir, 'data'), '--json', ...args]
  const result = await runCommand(given, options)
  return { ...result, tally: result.stdout === '' ? undefined : JSON.parse(result.stdout) }
}

/** Starts a follower in a process of its own. */
function follow(t: TestContext, dir: string, url: string, ...files: readonly string[]): ChildProcess {
  const args = ['sync', '--source', KEY, '--url', url, '--data-dir', join(dir, 'data'), '--follow', ...files]
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  atEnd(t, () => kill(child))
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

test('a second run sends only new lines, also after renaming, compressing and truncating', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const log = join(dir, 'access.log')
  const first = lines(3)
  writeFileSync(log, `${first.text}not a line of a log\n`)
  const run = () => sync(dir, api.url, [log])
  const { tally, code } = await run()
  assert.equal(code, 0)
  assert.deepEqual([tally.lines, tally.sent, tally.rejected], [4, 3, 1])
  assert.deepEqual(tally.errors, [{ file: log, line: 4, reason: 'is not a line of the Common Log Format' }])
  assert.deepEqual((await run()).tally.lines, 0)

  const beforeRename = lines(2)
  appendFileSync(log, beforeRename.text)
  renameSync(log, `${log}.1`)
  const afterRename = lines(2)
  writeFileSync(log, afterRename.text)
  assert.equal((await run()).tally.sent, 4, 'the end of the renamed log, and the new one')

  writeFileSync(`${log}.2.gz`, gzipSync(readFileSync(`${log}.1`)))
  const given = await sync(dir, api.url, [log, `${log}.1`, `${log}.2.gz`])
  assert.equal(given.tally.lines, 0, 'a compressed log is the same log')

  const beforeTruncation = lines(2)
  appendFileSync(log, beforeTruncation.text)
  copyFileSync(log, `${log}.3`)
  truncateSync(log)
  const afterTruncation = lines(9)
  appendFileSync(log, afterTruncation.text)
  assert.equal((await run()).tally.sent, 11, 'the end of the copy, and the log that has grown past the old offset')
  const all = [first, beforeRename, afterRename, beforeTruncation, afterTruncation].flatMap(({ pages }) => pages)
  assert.deepEqual(api.pages(), all)
  assert.ok(api.requests.every((path) => path === `/s/http/${KEY}`))
})

test('a follower that is killed and started again sends every line once', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const log = join(dir, 'access.log')
  const pages: string[] = []
  const write = (count: number) => {
    const made = lines(count)
    appendFileSync(log, made.text)
    pages.push(...made.pages)
  }
  const arrived = () =>
    until(
      () => api.byId.size,
      (size) => size === pages.length,
    )
  write(1_000)
  let child = follow(t, dir, api.url, log)
  await arrived()

  // Renamed: the writer keeps the old file for a while.
  renameSync(log, `${log}.1`)
  const late = lines(50)
  appendFileSync(`${log}.1`, late.text)
  pages.push(...late.pages)
  write(50)
  await arrived()

  // Copied and truncated while lines are on their way.
  write(500)
  copyFileSync(log, `${log}.2`)
  truncateSync(log)
  write(20)
  await arrived()

  // Killed before the answer: the events were kept, the checkpoint does not know.
  api.answers.push({ status: 500, keeps: true })
  write(300)
  await until(() => api.answers.length === 0)
  await kill(child)

  // Both rotations while nothing runs.
  write(10)
  renameSync(log, `${log}.3`)
  write(200)
  copyFileSync(log, `${log}.4`)
  truncateSync(log)
  write(7)
  child = follow(t, dir, api.url, log)
  await arrived()
  assert.deepEqual(api.pages(), [...pages].sort())

  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})

test('kill -9 in the middle of many requests loses and doubles no line', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const log = join(dir, 'access.log')
  const made = lines(60_000)
  writeFileSync(log, made.text)
  for (const requests of [1, 2]) {
    const child = follow(t, dir, api.url, log)
    await until(() => api.requests.length >= requests)
    await kill(child)
  }
  const { tally } = await sync(dir, api.url, [log])
  assert.equal(tally.rejected, 0)
  assert.deepEqual(api.pages(), made.pages)
})

test('a request is repeated on 429 and 5xx, and not on 401 and 404', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const log = join(dir, 'access.log')
  writeFileSync(log, lines(1).text)
  api.answers.push({ status: 429, headers: { 'retry-after': '1' } }, { status: 503 })
  const startMs = performance.now()
  const { code, stderr } = await sync(dir, api.url, [log])
  assert.equal(code, 0)
  assert.ok(performance.now() - startMs >= 1_000, 'waits as long as retry-after says')
  assert.match(stderr, /answered 429: .*trying again/)
  assert.equal(api.requests.length, 3)

  appendFileSync(log, lines(1).text)
  for (const [status, message] of [
    [401, /answered 401.*"\.\/ipid source create TENANT http" makes one/],
    [404, /answered 404.*--url/],
  ] as const) {
    api.answers.push({ status })
    const refused = await sync(dir, api.url, [log])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, message)
  }
  assert.equal((await sync(dir, api.url, [log])).tally.sent, 1, 'what was refused is still to be sent')
})

test('standard input, a mapping, and lines that the API rejects', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const json = ['{"c":{"addr":"203.0.113.7"},"u":"/a"}', '{"c":{"addr":"203.0.113.8"},"u":"/b"}']
  const text = gzipSync(`${json.join('\n')}\n`)
  const args = ['-', '--map', 'ip=c.addr', '--map', 'url=u']
  api.answers.push({ status: 200, keeps: true, body: { received: 2, accepted: 1, rejected: 1 } })
  const { tally } = await sync(dir, api.url, args, { stdin: [text.subarray(0, 20), text.subarray(20)] })
  assert.deepEqual([tally.lines, tally.sent, tally.rejected], [2, 1, 1])
  assert.deepEqual(tally.rejected_reasons, { 'refused by the API': 1 })
  await sync(dir, api.url, args, { stdin: [text] })
  assert.deepEqual(api.pages(), ['/a', '/b'], 'the same input has the same ids')
})

test('the end says why events were filtered, at once or by a job, and how many are not judged', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const run = async (job: string, body: object, ...answers: object[]) => {
    const log = join(dir, `access-${job}.log`)
    writeFileSync(log, lines(3).text)
    api.jobs.set(job, answers)
    api.answers.push({ status: 200, body })
    return (await sync(dir, api.url, [log])).tally
  }
  const atOnce = await run('', { received: 3, accepted: 0, filtered: 3, filtered_reasons: { reserved: 2, bot: 1 } })
  assert.deepEqual([atOnce.sent, atOnce.filtered, atOnce.filtered_reasons], [3, 3, { reserved: 2, bot: 1 }])
  const summary = { filtered: 2, filtered_reasons: { isp: 1, 'of a later version': 1 }, invalid_ip: 0, rejected: 1 }
  const [running, done] = [
    { job_id: 'a', status: 'running', result_summary: null },
    { job_id: 'a', status: 'completed', result_summary: summary },
  ]
  const later = await run('a', { received: 3, job_id: 'a' }, running, done)
  assert.deepEqual([later.sent, later.rejected, later.filtered, later.unjudged], [2, 1, 2, 0])
  assert.deepEqual(later.filtered_reasons, { isp: 1, other: 1 })
  const earlier = await run('b', { received: 3, job_id: 'b' }, { source_id: 'an API of an earlier version' })
  assert.deepEqual([earlier.sent, earlier.filtered, earlier.unjudged], [3, 0, 3])

  const log = join(dir, 'access.log')
  writeFileSync(log, lines(3).text)
  api.answers.push({ status: 200, body: { filtered: 3, filtered_reasons: { reserved: 2, bot: 1 } } })
  const args = ['sync', log, '--source', KEY, '--url', api.url, '--data-dir', join(dir, 'data')]
  assert.match((await runCommand(args)).stdout, /^ {2}filtered +3 \(2 from private addresses, 1 from bots\)$/m)
})

test('--site names the site of paths, for files and for standard input, and --format reads wrapped lines', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const log = join(dir, 'container.log')
  const made = lines(2)
  const wrapped = `started\n${made.text.trimEnd()}`.replace(/^/gm, '2026-11-28T20:34:46.12Z stdout F ')
  writeFileSync(log, `${wrapped}\n`)
  const { tally } = await sync(dir, api.url, [log, '--site', 'http://www.example.com:8080', '--format', 'combined'])
  assert.deepEqual([tally.sent, tally.rejected], [2, 1])
  const piped = lines(1)
  await sync(dir, api.url, ['-', '--site', 'shop.example'], { stdin: [Buffer.from(`starting\n${piped.text}`)] })
  assert.deepEqual(api.pages(), [
    ...made.pages.map((page) => `http://www.example.com:8080${page}`),
    ...piped.pages.map((page) => `https://shop.example${page}`),
  ])
})

test('a peer in TRUSTED_PROXIES names the visitor', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const line = (peer: string) =>
    `${peer} - - [28/Nov/2026:10:01:02 +0000] "GET /${peer} HTTP/1.1" 200 10 "-" "UA" "17.253.144.10"\n`
  const args = ['--trusted-proxies', 'cloudflare', '-']
  await sync(dir, api.url, args, {
    stdin: [line('172.68.10.5'), line('17.0.0.9'), line('10.0.0.5')].map((text) => Buffer.from(text)),
  })
  const addresses = [...api.byId.values()].map(({ ip, url }) => [url, ip]).sort()
  const visitor = '17.253.144.10'
  assert.deepEqual(addresses, [
    ['/10.0.0.5', visitor],
    ['/17.0.0.9', '17.0.0.9'],
    ['/172.68.10.5', visitor],
  ])
})

test('bad usage is answered with the remedy', async (t) => {
  const [dir, api] = [folder(t), await stub(t)]
  const log = join(dir, 'app.log')
  writeFileSync(log, 'started\nstopped\n')
  const refusal = async (...args: string[]) => {
    const { code, stderr } = await sync(dir, api.url, args)
    assert.equal(code, 2, stderr)
    return stderr
  }
  assert.match(await refusal(log), /format of .*app\.log is not known: name it with --format/)
  assert.match(await refusal(log, '--format', 'nginx'), /--format "nginx": must be auto, combined, common, /)
  assert.match(await refusal(join(dir, 'none')), /none is not a readable file/)
  assert.match(await refusal(log, '--map', 'ip=a', '--format', 'combined'), /--map is for --format json/)
  for (const site of ['a b', 'www.example.com/shop', 'ftp://a.b', 'user@a.b', '*.example.com', ''])
    assert.match(await refusal(log, '--site', site), /^ipid: --site ".*": must be a host, as in www\.example\.com/m)
  assert.equal(api.requests.length, 0)
})

interface Sent {
  readonly sent: number
  readonly filtered_reasons: object
}

test('a running instance stores each line once: a large file as a job, a further line at once', async (t) => {
  const instance = await startInstance(t)
  const env = { DATA_DIR: instance.dataDir }
  const created = await runCommand(['source', 'create', 'demo', 'http', '--json'], { env })
  const { key } = JSON.parse(created.stdout) as { readonly key: string }
  const log = join(folder(t), 'access.log')
  const made = lines(6_000)
  const sent = async () => {
    const { stdout } = await runCommand(['sync', log, '--source', key, '--json'], { env })
    const { sent, filtered_reasons: reasons } = JSON.parse(stdout) as Sent
    return [sent, reasons]
  }
  // The address of the last 1,000 lines is reserved for documentation.
  const rows = made.text.split('\n')
  const text = rows.map((row, i) => (i < 5_000 ? row.replace('203.0.113.7', '17.0.0.1') : row)).join('\n')
  writeFileSync(log, text)
  assert.deepEqual(await sent(), [6_000, { reserved: 1_000 }])
  const another = text.slice(0, text.indexOf('\n') + 1)
  appendFileSync(log, another)
  assert.deepEqual(
    [await sent(), await sent()],
    [
      [1, {}],
      [0, {}],
    ],
  )
  const counts = `SELECT count(), uniqExact(event_id), countIf(source_id = '${key.slice(0, 11)}') FROM events`
  await until(
    () => instance.query(counts),
    (row) => row === '5001\t5001\t5001',
  )
})
