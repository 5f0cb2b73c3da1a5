import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startBareServer } from '../bounds/bare.ts'
import { rowsBound } from '../bounds/clickhouse-rows.ts'
import { cpuFigures, type Product, peakFigures, redisFigures } from '../run/product.ts'
import { median } from '../run/results.ts'
import type { Figures, Scenario, Stage } from '../run/scenario.ts'
import { knownAddress } from './bodies.ts'
import { eventLoad } from './send-events.ts'
import { quantile, VisibilityWatch } from './visibility.ts'

const PATH = '/v1/ingest/batch'
const BOUND_SECONDS = 3
const BOUND_UPLOADS = 5
const LOOK_EVERY_MS = 100

export const BATCH: Scenario = {
  name: 'batch',
  summary: 'an upload of lines: time to the 202, lines/s to rows',
  run: (stage) => runUpload(stage, makeUpload),
  async bounds(stage) {
    const lines = makeUpload(stage.tag, stage.options.lines)
    const swallowed = { name: 'bare uWebSockets.js', ...(await bareAnswer(stage, lines)) }
    const dir = await mkdtemp(join(tmpdir(), 'ipid-bench-'))
    const remove = stage.releases.add(() => rm(dir, { recursive: true, force: true }))
    const kept = { name: 'the same, bytes on disk', ...(await bareAnswer(stage, lines, join(dir, 'body'))) }
    await remove()
    return [swallowed, kept, (await rowsBound(stage, 'lines/s', BOUND_SECONDS)).bound]
  },
}

/** Time of a bare server to answer an upload. */
async function bareAnswer(stage: Stage, lines: Buffer, keepsIn?: string) {
  const bare = await startBareServer(stage, '/v1/lookup', '{"ip":"17.0.0.1"}', keepsIn)
  try {
    const took: number[] = []
    for (let i = 0; i < BOUND_UPLOADS; i++) took.push((await post(bare.url, '', lines)).seconds)
    return { figure: 'answer s', value: median(took) }
  } finally {
    await bare.stop()
  }
}

export const BATCH_NO_IDS: Scenario = {
  name: 'batch-no-ids',
  summary: 'an upload of different lines without event_id',
  run: (stage) => runUpload(stage, (_, lines) => makeLines(lines, () => '')),
}

export const BATCH_LIVE: Scenario = {
  name: 'batch-live',
  summary: '200 live events per second during an upload of lines',
  async run(stage) {
    const { product } = stage
    const tag = `${stage.tag}l`
    const load = { perRequest: 1, connections: 16, rate: 200, seconds: stage.seconds(20), tag }
    await stage.load(eventLoad(stage, { ...load, seconds: 1, tag: `${stage.tag}w` }))
    const watch = new VisibilityWatch(product, tag)
    const [loaded, figures] = await Promise.all([
      stage.load(eventLoad(stage, load)),
      sendUpload(stage, makeUpload, true),
    ])
    const visible = await watch.end(loaded.answeredAtMs ?? [])
    return {
      'live p50 ms': loaded.p50Ms,
      'live p99 ms': loaded.p99Ms,
      'live row p50 ms': quantile(visible, 0.5),
      'live row p99 ms': quantile(visible, 0.99),
      ...figures,
    }
  },
}

type MakeUpload = (tag: string, lines: number) => Buffer

async function runUpload(stage: Stage, make: MakeUpload): Promise<Figures> {
  await upload(stage.product, make(`${stage.tag}w`, 1_000))
  await stage.product.idle()
  return sendUpload(stage, make)
}

/** @param isBeside other events arrive meanwhile, so the end of the job marks when its rows are stored */
async function sendUpload(stage: Stage, make: MakeUpload, isBeside = false): Promise<Figures> {
  const { product, options, tag } = stage
  const { lines } = options
  const body = make(tag, lines)
  const before = await product.redis()
  const stored = await product.stored()
  const accounting = product.accounting()
  const { seconds, jobId } = await upload(product, body)
  await product.untilStored(stored + lines)
  if (isBeside) await completed(product, jobId)
  const figures = {
    'lines/s': lines / accounting.seconds,
    'answer s': seconds,
    ...perLine(cpuFigures(accounting, lines)),
    ...peakFigures(accounting),
  }
  await completed(product, jobId)
  return { ...figures, ...perLine(redisFigures(before, await product.redis(), lines)) }
}

function perLine(figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name.replace('/event', '/line'), value]))
}

async function upload(product: Product, body: Buffer): Promise<{ seconds: number; jobId: string }> {
  const { seconds, text } = await post(product.url, product.apiKey, body)
  return { seconds, jobId: (JSON.parse(text) as { job_id: string }).job_id }
}

async function completed({ url, apiKey }: Product, jobId: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}${PATH}/${jobId}`, { headers: { 'x-api-key': apiKey } })
    const { status, progress_message: message } = (await answer.json()) as { status: string; progress_message: string }
    if (status === 'completed') return
    if (status === 'failed') throw new Error(`the job failed: ${message}`)
    await sleep(LOOK_EVERY_MS)
  }
}

function makeUpload(tag: string, lines: number): Buffer {
  return makeLines(lines, (i) => `"event_id":"${tag}-${i}",`)
}

/** @param idOf the JSON member with the id of a line's event, followed by a comma */
function makeLines(lines: number, idOf: (i: number) => string): Buffer {
  const parts = Array.from({ length: lines }, (_, i) => {
    return `{"ip":"${knownAddress(i)}",${idOf(i)}"timestamp":"2026-11-01T08:00:00Z"}\n`
  })
  return Buffer.from(parts.join(''), 'latin1')
}

function post(url: string, apiKey: string, body: Buffer): Promise<{ seconds: number; text: string }> {
  return new Promise((resolve, reject) => {
    const beganMs = performance.now()
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/x-ndjson', 'content-length': body.length }
    const call = request(`${url}${PATH}`, { method: 'POST', headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (data) => {
        text += data
      })
      answer.on('end', () => {
        const seconds = (performance.now() - beganMs) / 1_000
        if (answer.statusCode! < 300) resolve({ seconds, text })
        else reject(new Error(`${answer.statusCode} ${text}`))
      })
    })
    call.on('error', reject)
    call.end(body)
  })
}
