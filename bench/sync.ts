import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatNamed } from '../src/pipeline/sources/formats/formats.ts'
import { Checkpoint, headOf } from '../src/pipeline/sources/sync/checkpoint.ts'
import { LogFile } from '../src/pipeline/sources/sync/log-file.ts'
import { LogSync } from '../src/pipeline/sources/sync/log-sync.ts'

/** How many lines of a log `ipid sync` reads and maps in a second of CPU, without a network. */
const LINES = 100_000
const ROUNDS = 3
const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

/** A fifth of the lines are no page views, a tenth have a campaign. */
function pathOf(n: number): string {
  return `/products/${n}${n % 5 === 0 ? '.css' : ''}${n % 10 === 1 ? '?utm_source=news&utm_medium=mail' : ''}`
}

function two(n: number): string {
  return String(Math.floor(n) % 60).padStart(2, '0')
}

const FORMATS = {
  combined: (n: number) =>
    `203.0.${n % 200}.${n % 250} - - [26/Nov/2026:12:${two(n / 600)}:${two(n / 10)} +0100] "GET ${pathOf(n)} HTTP/1.1" 200 ${n} "https://www.example.org/search" "${AGENT}"`,
  caddy: (n: number) =>
    JSON.stringify({
      ...{ level: 'info', ts: 1_795_694_400 + n / 10, logger: 'http.log.access', msg: 'handled request' },
      request: {
        ...{ remote_ip: `203.0.${n % 200}.${n % 250}`, client_ip: `203.0.${n % 200}.${n % 250}`, proto: 'HTTP/2.0' },
        ...{ method: 'GET', host: 'example.com', uri: pathOf(n), tls: {} },
        headers: { 'User-Agent': [AGENT], Referer: ['https://www.example.org/search'] },
      },
      ...{ status: 200, size: n, duration: 0.001, resp_headers: {} },
    }),
}

const folder = mkdtempSync(join(tmpdir(), 'ipid-bench-sync-'))
try {
  for (const [name, lineOf] of Object.entries(FORMATS)) {
    const path = join(folder, `${name}.log`)
    writeFileSync(path, `${Array.from({ length: LINES }, (_, n) => lineOf(n)).join('\n')}\n`)
    const perSecond: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const checkpoint = new Checkpoint([], { replace() {}, append() {} })
      const options = { format: formatNamed(name), mapping: undefined, all: false, checkpoint }
      const send = async () => ({ rejected: 0, filtered: {}, invalidIp: 0, noIp: 0 })
      const judged = async () => undefined
      const sync = new LogSync({ ...options, send, judged, stop: new AbortController().signal })
      const log = await LogFile.open(path)
      const head = await headOf(log, true)
      const record = await checkpoint.recordOf(log, head!, () => name, 0)
      const startedAt = process.cpuUsage()
      await sync.read(log, record, true)
      await sync.settle()
      const { user, system } = process.cpuUsage(startedAt)
      perSecond.push((LINES * 1_000_000) / (user + system))
      await log.close()
      if (sync.tally.sent !== (LINES * 4) / 5) throw new Error(`${sync.tally.sent} events were sent`)
    }
    const median = perSecond.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]!
    process.stdout.write(`${name.padEnd(10)} ${Math.round(median).toLocaleString('en-US')} lines/s\n`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
