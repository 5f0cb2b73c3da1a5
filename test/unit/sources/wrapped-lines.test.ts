import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { formatFor, formatNamed, formatOfLines } from '../../../src/pipeline/sources/formats/formats.ts'
import type { LineResult } from '../../../src/pipeline/sources/formats/line-format.ts'
import { Checkpoint, headOf } from '../../../src/pipeline/sources/sync/checkpoint.ts'
import { LogFile } from '../../../src/pipeline/sources/sync/log-file.ts'
import { LogSync } from '../../../src/pipeline/sources/sync/log-sync.ts'

const UA = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const T = '[28/Nov/2026:10:01:02 +0000]'
const clf = (path: string, more = '') => `17.253.144.10 - - ${T} "GET ${path} HTTP/1.1" 200 20 "-" "${UA}"${more}`
const docker = (log: string, more: object = { time: '2026-11-28T10:01:02.123456789Z' }) =>
  JSON.stringify({ log, stream: 'stdout', ...more })
const HAPROXY = '17.253.144.10:51234 [28/Nov/2026:10:01:02.123] web app/n1 0/0/0/1/1 200 123 - - ---- 1/1/0/0/0 0/0'
const W3C = ['#Fields: date time c-ip cs-method cs-uri-stem sc-status', '2026-11-28 10:01:02 17.253.144.10 GET /a 200']
const caddy = JSON.stringify({
  ...{ ts: 1_795_860_062, status: 200 },
  request: { method: 'GET', uri: '/a', host: 'a.b', remote_ip: '17.253.144.10', headers: { 'User-Agent': [UA] } },
})

function readWith(name: string, lines: readonly string[]): LineResult[] {
  const reader = formatNamed(name)!.reader({ all: false, nowMs: 0 })
  return lines.map((line) => reader.read(line))
}

test('what collectors put around lines is taken off, and the line read by its own format', () => {
  const cases: [name: string, ...lines: string[]][] = [
    ['cri+combined', `2026-11-28T20:34:46.12Z stdout F ${clf('/a')}`],
    ['cri+combined', `2026-11-28T20:34:46.123456789+01:00 stdout F:x ${clf('/a')}`],
    ['cri+haproxy', `2026-11-28T20:34:46.123456789Z stdout F ${HAPROXY} "GET /a HTTP/1.1"`],
    ['cri+w3c', ...W3C.map((line) => `2026-11-28T20:34:46.12Z stdout F ${line}`)],
    ['docker+combined', docker(`${clf('/a')}\n`, {})],
    ['docker+combined', docker(`${clf('/a')}\r\n`)],
    ['docker+caddy', docker(`${caddy}\n`, { attrs: { tag: 'web' } })],
    ['syslog+combined', `<13>Nov 28 10:01:02 host nginx: ${clf('/a')}`],
    ['syslog+combined', `<190>Nov  8 10:01:02 nginx: ${clf('/a')}`],
    ['syslog+combined', `Nov 28 10:01:02 fe80::1 nginx[123]: ${clf('/a')}`],
    ['syslog+combined', `Nov 28 10:01:02 host local7.info nginx: ${clf('/a')}`],
    ['syslog+combined', `2026-11-28T10:01:02.123456+01:00 host nginx: ${clf('/a')}`],
    ['syslog+haproxy', `<134>${HAPROXY} "GET /a HTTP/1.1"`],
    ['syslog+haproxy', `<134>1 2026-11-28T10:01:02.123Z - haproxy 7 - - ${HAPROXY} "GET /a HTTP/1.1"`],
    ['syslog+combined', `187 <13>1 2026-11-28T10:01:02Z h nginx - - [a@1 b="]\\"" c="d"][e] \ufeff${clf('/a')}`],
    ['syslog+caddy', `<13>1 2026-11-28T10:01:02Z host caddy - - -  ${caddy}`],
    ['time+combined', `2026-11-28T10:01:02.123456789Z ${clf('/a')}`],
    ['docker+syslog+combined', docker(`<13>Nov 28 10:01:02 host nginx: ${clf('/a')}\n`)],
  ]
  for (const [name, ...lines] of cases) {
    assert.equal(formatOfLines(lines)?.name, name, lines[0])
    const result = readWith(name, lines).at(-1)!
    assert.ok('event' in result, `${lines.at(-1)} ${JSON.stringify(result)}`)
    assert.equal(result.event.ip, '17.253.144.10', lines.at(-1))
    assert.match(String(result.event.page?.url), /\/a$/)
  }
})

test('lines that no format takes have no format, whatever is around them', () => {
  const lines = [
    'Nov 28 10:01:02 host sshd[7]: Accepted publickey for root',
    `Nov 28 10:01:02 host nginx 17.253.144.10 said - [28/Nov/2026:10:01:02 +0000] "GET /a HTTP/1.1" 200 20`,
    '2026-11-28T20:34:46.12Z stdout F started',
    `web-1  | ${clf('/a')}`,
    docker('started\n'),
    JSON.stringify({ log: clf('/a') }),
    'host nginx: started',
    '{"level":"info","status":200}',
  ]
  for (const line of lines) assert.equal(formatOfLines([line]), undefined, line)
})

test('a client that is logged by its name is rejected with the setting, and is no invalid address', () => {
  const line = clf('/a').replace('17.253.144.10', 'host.example.net')
  assert.equal(formatOfLines([line])?.name, 'combined')
  const [result] = readWith('combined', [line])
  assert.ok('rejected' in result!)
  assert.match(result.rejected, /HostnameLookups Off/)
})

test('messages that a program prints before its first request do not hide the format', () => {
  const start = Array.from({ length: 40 }, (_, i) => `/docker-entrypoint.sh: step ${i}`)
  assert.equal(formatOfLines([...start, clf('/a'), clf('/b')])?.name, 'combined')
  const wrapped = [...start, clf('/a')].map((line) => docker(`${line}\n`))
  assert.equal(formatOfLines(wrapped)?.name, 'docker+combined')
  assert.equal(formatFor(formatNamed('combined')!, wrapped).name, 'docker+combined')
  assert.equal(formatFor(formatNamed('combined')!, wrapped.slice(0, 5)).name, 'docker+combined')
  const app = docker(`${JSON.stringify({ client: '17.0.0.1' })}\n`)
  assert.equal(formatFor(formatNamed('json')!, [app]).name, 'docker+json')
  assert.equal(formatFor(formatNamed('json')!, ['{"log":"x","stream":"stdout","client":"17.0.0.1"}']).name, 'json')
})

test('parts of a line are joined by their stream', () => {
  // Cut inside of the user agent, which is stored whole: a part that is lost, or of the other stream, changes the event.
  const texts = ['out', 'err'].map((name) => clf(`/${name}`).replace(UA, `${UA} ${`${name} `.repeat(9_000)}`))
  const cri = (stream: string, tag: string, part: string) => `2026-11-28T20:34:46.12Z ${stream} ${tag} ${part}`
  const wraps: Record<string, (stream: string, part: string, isLast: boolean) => string> = {
    cri: (stream, part, isLast) => cri(stream, isLast ? 'F' : 'P', part),
    docker: (stream, part, isLast) => JSON.stringify({ log: isLast ? `${part}\n` : part, stream }),
  }
  // Which stream writes its next part: one in the middle of the other, in turns, and one after the other.
  for (const order of ['oeoe', 'oeeo', 'eoeo', 'ooee', 'oeoeoe', 'ooeeeo', 'eooeoe']) {
    for (const [name, wrap] of Object.entries(wraps)) {
      const [all, at] = [order.length / 2, { o: 0, e: 0 }]
      const expected: LineResult[] = []
      const lines = Array.from(order, (letter) => {
        const [text, stream] = letter === 'o' ? [texts[0]!, 'stdout'] : [texts[1]!, 'stderr']
        const n = at[letter as 'o' | 'e']++
        const isLast = n + 1 === all
        // Docker's parts have 16,384 bytes.
        const part = text.slice(n * 16_384, isLast ? undefined : (n + 1) * 16_384)
        expected.push(isLast ? readWith('combined', [text])[0]! : { skipped: 'part of a line' })
        return wrap(stream, part, isLast)
      })
      assert.equal(formatOfLines(lines)?.name, `${name}+combined`, order)
      assert.deepEqual(readWith(`${name}+combined`, lines), expected, `${name} ${order}`)
    }
  }
  const endless = cri('stdout', 'P', 'x'.repeat(600_000))
  assert.deepEqual(readWith('cri+combined', [endless, endless])[1], {
    rejected: 'has parts of more than 1048576 characters',
  })
})

test('a part whose rest does not come is given up, and keeps no checkpoint back', () => {
  const cri = (stream: string, tag: string, part: string) => `2026-11-28T20:34:46.12Z ${stream} ${tag} ${part}`
  const reader = formatNamed('cri+combined')!.reader({ all: false, nowMs: 0 })
  reader.read(cri('stdout', 'P', clf('/lost').slice(0, 50)))
  assert.equal(reader.isBetween, false)
  const results = Array.from({ length: 2_000 }, () => reader.read(cri('stderr', 'F', clf('/a'))))
  assert.equal(reader.isBetween, true)
  assert.deepEqual(
    results.filter((result) => !('event' in result)),
    [],
  )
  const last = reader.read(cri('stdout', 'F', clf('/b')))
  assert.ok('event' in last && last.event.page?.url === '/b')
})

test('a run that ends between the parts of a line begins the next one at its first part', async (t: TestContext) => {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-parts-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'container.log')
  const cri = (tag: string, part: string) => `2026-11-28T20:34:46.12Z stdout ${tag} ${part}\n`
  const [first, second] = [clf('/first'), clf('/second')]
  const sent: { readonly url: string; readonly event_id: string }[] = []
  const checkpoint = new Checkpoint([], { replace() {}, append() {} })
  const run = async (text: string) => {
    writeFileSync(path, text)
    const sync = new LogSync({
      ...{ format: undefined, mapping: undefined, all: false, checkpoint, stop: new AbortController().signal },
      async send(lines) {
        sent.push(...lines.map((line) => JSON.parse(line)))
        return { rejected: 0, filtered: {}, invalidIp: 0, noIp: 0, jobId: undefined }
      },
      judged: async () => undefined,
    })
    const log = await LogFile.open(path)
    const head = (await headOf(log, true))!
    const record = await checkpoint.recordOf(log, head, () => sync.formatFor(path, head).name, 0)
    await sync.read(log, record, true)
    await sync.settle()
    await log.close()
    return record
  }
  const start = cri('F', first) + cri('P', second.slice(0, 50))
  const record = await run(start)
  assert.deepEqual([record.format, record.offset, record.lines], ['cri+combined', cri('F', first).length, 1])
  await run(start + cri('F', second.slice(50)))
  assert.deepEqual(
    sent.map(({ url }) => url),
    ['/first', '/second'],
  )
  assert.equal(new Set(sent.map(({ event_id: id }) => id)).size, 2)
})
