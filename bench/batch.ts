import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type Instance, startInstance } from './support/instance.ts'
import { percentile } from './support/load.ts'
import { descendants, residentMb } from './support/processes.ts'

/**
 * A batch upload of `LINES` lines and `MEGABYTES` megabytes beside `LIVE_RATE` live events a second: time to the 202, time to
 * the end of the job, memory of every process at its peak, latency and visibility of the live events.
 */
const lines = Number(process.env.LINES ?? 1_000_000)
const megabytes = Number(process.env.MEGABYTES ?? 100)
const liveRate = Number(process.env.LIVE_RATE ?? 200)

function makeUpload(): Buffer {
  const lineBytes = Math.floor((megabytes * 2 ** 20) / lines)
  const body = Buffer.alloc(lineBytes * lines)
  for (let i = 0, at = 0; i < lines; i++) {
    const head = `{"ip":"17.${(i >> 12) & 255}.${(i >> 6) & 255}.${i & 63}","event_id":"b${i}","properties":"`
    at += body.write(`${head}${'x'.repeat(Math.max(0, lineBytes - head.length - 3))}"}\n`, at, 'latin1')
  }
  return body
}

interface JobStatus {
  readonly status: string
  readonly progress_current: number
  readonly result_summary: Record<string, unknown> | null
}

async function main(instance: Instance, upload: Buffer): Promise<void> {
  const processes = descendants(instance.pid)
  const memory = new MemoryWatch(processes, instance)
  const live = new LiveEvents(instance)
  await live.warmUp()
  await memory.begin()
  const liveLoop = live.run()
  const startedAt = performance.now()
  const accepted = JSON.parse(await post(instance, '/v1/ingest/batch', upload)) as { job_id: string; received: number }
  print('202 after, s', seconds(startedAt))
  let job: JobStatus
  do {
    await sleep(100)
    const answer = await fetch(`${instance.url}/v1/ingest/batch/${accepted.job_id}`, {
      headers: { 'x-api-key': instance.apiKey },
    })
    job = (await answer.json()) as JobStatus
  } while (job.status !== 'completed' && job.status !== 'failed')
  const took = (performance.now() - startedAt) / 1_000
  live.stop()
  await liveLoop
  print('job, s', took.toFixed(1))
  print('events/s', Math.round(lines / took))
  print('summary', JSON.stringify({ ...job.result_summary, status: job.status }))
  print('stored', await instance.query("SELECT count(), uniqExact(event_id) FROM events WHERE event_id LIKE 'b%'"))
  live.report()
  await sleep(3_000)
  await memory.report()
}

class MemoryWatch {
  readonly #processes: readonly { pid: number; title: string }[]
  readonly #redis: Redis
  readonly #before = new Map<number, number>()
  readonly #peak = new Map<number, number>()
  #redisBefore = 0
  #redisPeak = 0
  #timer: NodeJS.Timeout | undefined

  constructor(processes: readonly { pid: number; title: string }[], instance: Instance) {
    this.#processes = processes
    this.#redis = new Redis({ path: instance.redisUrl.replace('unix://', '') })
  }

  async begin(): Promise<void> {
    for (const { pid } of this.#processes) this.#before.set(pid, residentMb(pid))
    this.#redisBefore = await this.#redisMb()
    this.#timer = setInterval(() => void this.#look(), 100)
  }

  async #look(): Promise<void> {
    for (const { pid } of this.#processes) this.#peak.set(pid, Math.max(this.#peak.get(pid) ?? 0, residentMb(pid)))
    this.#redisPeak = Math.max(this.#redisPeak, await this.#redisMb())
  }

  async #redisMb(): Promise<number> {
    return Number(/^used_memory:(\d+)/m.exec(await this.#redis.info('memory'))![1]) / 2 ** 20
  }

  async report(): Promise<void> {
    clearInterval(this.#timer)
    for (const { pid, title } of this.#processes) {
      const [before, peak] = [this.#before.get(pid) ?? 0, this.#peak.get(pid) ?? 0]
      print(
        `rss MB ${title.slice(0, 24)}`,
        `${before.toFixed(0)} → ${peak.toFixed(0)} (+${(peak - before).toFixed(0)})`,
      )
    }
    const after = await this.#redisMb()
    const figures = [this.#redisBefore, this.#redisPeak, after].map((mb) => mb.toFixed(0))
    print('redis used MB', `${figures[0]} before, ${figures[1]} peak, ${figures[2]} after`)
    this.#redis.disconnect()
  }
}

class LiveEvents {
  readonly #instance: Instance
  readonly #latencies: number[] = []
  readonly #visible: number[] = []
  readonly #sentAt = new Map<string, number>()
  #stopped = false
  #next = 0

  constructor(instance: Instance) {
    this.#instance = instance
  }

  async warmUp(): Promise<void> {
    for (let i = 0; i < 200; i++) await this.#send(`w${i}`)
    this.#latencies.length = 0
    this.#sentAt.clear()
  }

  stop(): void {
    this.#stopped = true
  }

  /** One event a request, at a steady rate whatever the answers take. */
  async run(): Promise<void> {
    const startedAt = performance.now()
    const watching = this.#watch()
    const sent: Promise<void>[] = []
    while (!this.#stopped) {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * liveRate)
      while (this.#next < due) sent.push(this.#send(`l${this.#next++}`))
      await sleep(5)
    }
    await Promise.all(sent)
    await watching
  }

  async #send(id: string): Promise<void> {
    const at = performance.now()
    const body = JSON.stringify({ events: [{ ip: '17.9.9.9', event_id: id }] })
    await post(this.#instance, '/v1/ingest', Buffer.from(body))
    this.#latencies.push(performance.now() - at)
    this.#sentAt.set(id, performance.now())
  }

  /** Looks every 100 ms which events can be queried by now. */
  async #watch(): Promise<void> {
    while (!this.#stopped || this.#sentAt.size > 0) {
      await sleep(100)
      const waiting = [...this.#sentAt.keys()]
      if (waiting.length === 0) continue
      const list = waiting.map((id) => `'${id}'`).join(',')
      const found = await this.#instance.query(
        `SELECT event_id FROM events WHERE received_at > now() - 60 AND event_id IN (${list})`,
      )
      for (const id of found.split('\n')) {
        const at = this.#sentAt.get(id)
        if (at !== undefined) this.#visible.push(performance.now() - at)
        this.#sentAt.delete(id)
      }
    }
  }

  report(): void {
    const ascending = (values: number[]) => values.sort((a, b) => a - b)
    ascending(this.#latencies)
    ascending(this.#visible)
    print('live events', this.#latencies.length)
    print('live answer p50 / p99, ms', `${at(this.#latencies, 0.5)} / ${at(this.#latencies, 0.99)}`)
    print('live visible p50 / p99, ms', `${at(this.#visible, 0.5)} / ${at(this.#visible, 0.99)}`)
  }
}

function at(values: readonly number[], share: number): string {
  return percentile(values, share).toFixed(1)
}

function post(instance: Instance, path: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(`${instance.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': instance.apiKey, 'content-length': body.length },
    })
    call.on('response', (answer) => {
      let text = ''
      answer.on('data', (data) => {
        text += data
      })
      answer.on('end', () => {
        if (answer.statusCode! < 300) resolve(text)
        else reject(new Error(`${answer.statusCode} ${text}`))
      })
    })
    call.on('error', reject)
    call.end(body)
  })
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(2)
}

function print(name: string, value: unknown): void {
  process.stdout.write(`${name.padEnd(32)} ${value}\n`)
}

const upload = makeUpload()
const instance = await startInstance()
try {
  await main(instance, upload)
} finally {
  await instance.stop()
}
