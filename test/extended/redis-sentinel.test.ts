import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { Redis } from 'ioredis'
import type { BatchJob } from '../../schemas/api/batch.ts'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { Announcements } from '../../src/stores/redis/announcements.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { persisted } from '../../src/stores/redis/durability/persisted.ts'
import { sentinelMasterOf } from '../../src/stores/redis/sentinel.ts'
import { CuttingProxy } from '../chaos/run/proxy.ts'
import { runCommand } from '../support/command.ts'
import { startInstance, type TestInstance } from '../support/instance.ts'
import { quiet } from '../support/pipeline.ts'
import { startSecretSet, startSentinelSet } from '../support/sentinel.ts'
import { TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const PER_REQUEST = 20
const LINES = 2_000

/** Sends requests, each until it is answered with 200, and counts other answers. */
class Sender {
  readonly #instance: TestInstance
  #next = 0
  #stopped = false
  refused = 0

  constructor(instance: TestInstance) {
    this.#instance = instance
  }

  /** Events that were answered with 200, each of them once. */
  answered = 0

  async run(): Promise<void> {
    while (!this.#stopped) {
      const first = this.#next
      this.#next += PER_REQUEST
      const events = Array.from({ length: PER_REQUEST }, (_, i) => ({ ip: '17.0.0.1', event_id: `e${first + i}` }))
      while (!(await this.#send(events))) this.refused++
      this.answered += PER_REQUEST
    }
  }

  stop(): void {
    this.#stopped = true
  }

  async #send(events: readonly object[]): Promise<boolean> {
    const answer = await this.#instance.post('/v1/ingest', { events })
    await answer.arrayBuffer()
    return answer.status === 200
  }
}

test('under Sentinel every fail-over keeps each answered event once', async (t) => {
  const set = await startSentinelSet(t)
  const proxies = await Promise.all(
    set.sentinels.map(async ({ port }) => {
      const proxy = new CuttingProxy()
      await proxy.start({ host: '127.0.0.1', port }, t)
      return proxy
    }),
  )
  const url = set.url(
    '?waitReplicas=1',
    proxies.map(({ port }) => port),
  )
  const instance = await startInstance(t, { REDIS_URL: url, CLAIM_IDLE_MS: '1000' })
  const sender = new Sender(instance)
  const sending = sender.run()
  const more = async () => {
    const before = sender.answered
    await until(() => sender.answered > before + 2 * PER_REQUEST)
  }
  const status = async () => {
    const { stdout } = await runCommand(['status', '--json'], { env: { DATA_DIR: instance.dataDir } })
    return JSON.parse(stdout) as SystemStatus
  }
  const jobs: string[] = []
  const upload = async () => {
    const first = LINES * jobs.length
    const lines = Array.from({ length: LINES }, (_, i) => `{"ip":"18.0.0.1","event_id":"b${first + i}"}`).join('\n')
    // An upload that is not answered may have happened: its events are the same when it is sent again.
    const answer = await until(async () => {
      const found = await instance.post('/v1/ingest/batch', lines)
      return found.status === 202 ? found : void (await found.arrayBuffer())
    })
    jobs.push(((await answer.json()) as { job_id: string }).job_id)
  }
  const step = stepsOf(t)
  await step('status names the master in use and its replicas', async () => {
    await more()
    const { redis, verdict, unknown } = await status()
    assert.deepEqual(unknown, [])
    assert.deepEqual(redis?.sentinel, {
      master: (await set.master())!.address,
      replicas: 2,
      wait_replicas: 1,
      refuses_alone: false,
    })
    assert.match(verdict.text, /^ok/)
  })
  await step('a killed master', async () => {
    await upload()
    const old = (await set.master())!
    await old.kill()
    await set.nextMaster(old)
    await more()
    await upload()
    await old.restart()
    // On a busy machine the Sentinels may change the master once more.
    const { address } = await set.whole()
    assert.equal((await status()).redis?.sentinel?.master, address)
  })
  await step('a demoted master', async () => {
    await set.handOver()
    await more()
    await set.whole()
  })
  await step('a paused master that comes back', async () => {
    await upload()
    const old = (await set.master())!
    old.signal('SIGSTOP')
    await set.nextMaster(old)
    await more()
    old.signal('SIGCONT')
    await set.whole()
    await more()
  })
  await step('an old master that ipid alone still reaches answers nothing', async () => {
    const old = (await set.master())!
    for (const proxy of proxies) proxy.way = 'requests are lost'
    await old.isolate()
    await set.nextMaster(old)
    const before = { answered: sender.answered, refused: sender.refused }
    await until(() => sender.refused > before.refused + 2)
    assert.ok(sender.answered <= before.answered + PER_REQUEST)
    for (const proxy of proxies) {
      proxy.way = 'through'
      proxy.cut()
    }
    await more()
    await old.rejoin()
    await set.whole()
    await more()
  })
  await step('each event is stored once, and each upload has exact counts', async () => {
    sender.stop()
    await sending
    for (const id of jobs) {
      const job = await until(async () => {
        const answer = await fetch(`${instance.ready.url}/v1/ingest/batch/${id}`, {
          headers: { 'x-api-key': instance.apiKey },
        })
        const found = (await answer.json()) as BatchJob
        return found.status === 'completed' ? found : undefined
      })
      const { processed, rejected, filtered } = job.result_summary!
      assert.deepEqual({ processed, rejected, filtered }, { processed: LINES, rejected: 0, filtered: 0 })
    }
    const expected = sender.answered + LINES * jobs.length
    const counts = () => instance.query('SELECT count(), uniqExact(event_id) FROM events')
    await until(counts, (text) => Number(text.split('\t')[1]) >= expected)
    assert.equal(await counts(), `${expected}\t${expected}`)
    assert.equal(await instance.stop(), 0)
  })
})

test('every kind of connection follows the master; a wrong name is reported', async (t) => {
  const set = await startSentinelSet(t)
  const open = (name: string, kind: 'request' | 'loop', url = set.url()) => {
    const client = quiet(connectRedis(url, { name, kind, timeoutMs: 1_000 })) as Redis
    t.after(() => client.disconnect())
    return client
  }
  const old = (await set.master())!
  const [request, blocking, listening] = [open('request', 'request'), open('b', 'loop'), open('l', 'loop')]
  await once(request, 'ready')
  let announced = 0
  new Announcements(listening, 'news').watch(() => {
    announced++
  })
  const popped = blocking.blpop('list', 0).catch(() => undefined)
  await until(() => announced > 0)
  // A master that is paused keeps its connections.
  const atFirst = announced
  old.signal('SIGSTOP')
  const next = await set.nextMaster(old)
  await until(() => [request, blocking, listening].every((client) => sentinelMasterOf(client) === next.address))
  assert.equal(await popped, undefined)
  await until(() => announced > atFirst)
  await until(() => request.status === 'ready')
  const before = announced
  assert.equal(await request.publish('news', ''), 1)
  await until(() => announced > before)
  old.signal('SIGCONT')
  await set.whole()

  // Demoted without Sentinel: it refuses the write, and Sentinel soon promotes it again.
  await next.client.call('REPLICAOF', '127.0.0.1', old.port)
  await assert.rejects(request.set('a', '1'), /READONLY|Connection is closed|writeable/)
  await until(() => request.set('a', '1').catch(() => undefined))

  const wrong = open('w', 'request', set.url().replace('mymaster', 'other'))
  const [error] = (await once(wrong, 'error')) as [Error]
  assert.match(error.message, /^no Sentinel knows the master other: 127.0.0.1:\d+ says: ERR No such master/)

  const REDIS_URL = `redis://127.0.0.1:${set.sentinels[0]!.port}`
  const refusal = /^ipid: "redis:\/\/127.0.0.1:\d+" is a Sentinel: .* must be redis-sentinel:\/\/…\/NAME/m
  assert.match((await runCommand(['tenant', 'list'], { env: { REDIS_URL } })).stderr, refusal)
  const started = new TestSite(t, { REDIS_URL }).start(['--roles', 'process'])
  assert.equal((await started.ended).code, 1)
  assert.match(started.stderr(), refusal)
})

test('a Sentinel that missed the last fail-over does not lead back to the old master', async (t) => {
  const set = await startSentinelSet(t)
  const old = (await set.master())!
  const stale = await startStaleSentinel(t, old.port)
  const client = quiet(
    connectRedis(set.url('', [stale.port]), { name: 't', kind: 'request', timeoutMs: 1_000 }),
  ) as Redis
  t.after(() => client.disconnect())
  await until(() => sentinelMasterOf(client) === old.address && client.status === 'ready')
  await old.isolate()
  const next = await set.nextMaster(old)
  const ports = [stale.port, ...set.sentinels.map(({ port }) => port)]
  const other = quiet(connectRedis(set.url('', ports), { name: 't', kind: 'request', timeoutMs: 1_000 })) as Redis
  t.after(() => other.disconnect())
  await until(() => sentinelMasterOf(other) === next.address && other.status === 'ready')
  for (const sentinel of set.sentinels) sentinel.signal('SIGSTOP')
  // Only the stale one answers now.
  const asked = stale.asked
  await until(() => stale.asked > asked + 4)
  assert.equal(sentinelMasterOf(other), next.address)
  assert.equal(await other.set('a', '1'), 'OK')
  assert.equal(sentinelMasterOf(client), old.address)
})

/** A Sentinel that for ever names one master, of no fail-over. */
async function startStaleSentinel(t: TestContext, masterPort: number): Promise<{ port: number; asked: number }> {
  const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`
  const answers = [
    [/get-master-addr-by-name/i, `*2\r\n${bulk('127.0.0.1')}${bulk(String(masterPort))}`],
    [/sentinel\r\n\$6\r\nmaster/i, `*2\r\n${bulk('config-epoch')}${bulk('0')}`],
  ] as const
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.on('data', (data) => {
      for (const command of data.toString().split(/(?=\*\d+\r\n)/)) {
        const answer = answers.find(([form]) => form.test(command))?.[1]
        if (answer !== undefined) stale.asked++
        socket.write(answer ?? '+OK\r\n')
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const stale = { port: (server.address() as AddressInfo).port, asked: 0 }
  return stale
}

test('passwords and TLS reach both Sentinels and servers; without them the reason is reported', async (t) => {
  const { url, authority } = await startSecretSet(t)
  const list = (redisUrl: string, ca = authority) => {
    const env = { ...process.env, REDIS_URL: redisUrl, NODE_EXTRA_CA_CERTS: ca, DATA_DIR: dirname(authority) }
    return promisify(execFile)(process.execPath, ['src/ipid.mjs', 'tenant', 'list', '--json'], { env }).then(
      ({ stdout }) => stdout,
      ({ stderr }) => String(stderr),
    )
  }
  assert.deepEqual(JSON.parse(await list(url)), [])
  assert.match(
    await list(url, ''),
    /no Sentinel knows the master mymaster: .* says: the authority of .* NODE_EXTRA_CA_CERTS/,
  )
  assert.match(await list(url.replace('watch%26me', 'wrong')), /WRONGPASS|NOAUTH/)
  const refused = await list(url.replace('p%40ss', 'wrong'))
  assert.match(refused, /WRONGPASS/)
  assert.doesNotMatch(refused, /watch%26me/)
})

test('a write counts once the replicas have it; a lost connection or replica fails it', async (t) => {
  const set = await startSentinelSet(t, ['repl-timeout 60'])
  const client = quiet(connectRedis(set.url('?waitReplicas=2'), { name: 't', kind: 'loop', timeoutMs: 1_000 })) as Redis
  t.after(() => client.disconnect())
  await client.set('a', '1')
  await persisted(client)
  const master = (await set.master())!
  const replicas = set.servers.filter((server) => server !== master)
  for (const { client: replica } of replicas) assert.equal(await replica.get('a'), '1')
  replicas[0]!.signal('SIGSTOP')
  // Another connection wrote it.
  await master.client.set('b', '1')
  await assert.rejects(persisted(client), /^UnavailableError: only 1 of 2 replicas have the last writes/)
  replicas[0]!.signal('SIGCONT')
  await until(() =>
    persisted(client).then(
      () => true,
      () => undefined,
    ),
  )
  client.disconnect(true)
  await once(client, 'close')
  await assert.rejects(persisted(client), /the connection to Redis is lost/)
})
