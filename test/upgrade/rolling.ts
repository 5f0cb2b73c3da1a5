import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../src/run/random.ts'
import { ClientView } from '../chaos/run/client-view.ts'
import { judgeStored } from '../chaos/run/judge.ts'
import { Ledger } from '../chaos/run/ledger.ts'
import { Load } from '../chaos/run/load.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { Machine } from '../support/machine.ts'
import { takePort } from '../support/ports.ts'
import { startTestRedis } from '../support/redis.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'
import { lastRelease, THIS_VERSION } from './released.ts'

const SEED = 11
const RATE = 15
/** Events to be answered before the next process is replaced. */
const EVENTS_PER_STEP = 800
const WORKER = ['--roles', 'process,sink,batch,archive']
const INGRESS = ['--roles', 'ingress']

const released = await lastRelease()
const skip = typeof released === 'string' ? released : false

test('a rolling upgrade of workers and ingresses fails no request, and stores every event once', {
  skip,
}, async (t) => {
  const old = released as Exclude<typeof released, string>
  const step = stepsOf(t)
  const [redis, clickhouse] = [await startTestRedis(t), await startTestClickHouse(t, { bare: true })]
  const port = takePort()
  const create = (env: Record<string, string> = {}) =>
    Machine.create(t, {
      REDIS_URL: redis.url,
      CLICKHOUSE_URL: clickhouse.url,
      SINK_SHARES: '2',
      FEEDER_SHARES: '4',
      PORT: String(port),
      ...env,
    })
  const url = `http://127.0.0.1:${port}`
  const view = new ClientView()
  let ledger: Ledger
  let load: Load
  let loading: Promise<unknown> = Promise.resolve()
  const more = async () => {
    const before = ledger.received.all.answered
    await until(() => ledger.received.all.answered >= before + EVENTS_PER_STEP)
  }
  t.after(() => load?.abandon())

  const workers = [await create(), await create()] as const
  // One ipid of the release with two processes on the port; two of this version, which share it.
  const oldIngress = await create({ INGRESS_PROCESSES: '2' })
  const ingresses = [await create({ PORT_SHARED: 'on' }), await create({ PORT_SHARED: 'on' })] as const

  await step('the release runs under load: two workers, and two ingresses on one port', async () => {
    // The first migrates the tables.
    await workers[0].start(old, WORKER)
    await Promise.all([workers[1].start(old, WORKER), oldIngress.start(old, INGRESS)])
    ledger = await tenantOf(oldIngress)
    load = new Load({ urls: () => [url], ledger, random: new Random(SEED), rate: RATE, view })
    loading = Promise.all([load.sendLive(), load.sendLive(), load.upload()])
    await more()
  })

  for (const [i, worker] of workers.entries()) {
    await step(`worker ${i + 1} is replaced`, async () => {
      assert.equal(await worker.stop(), 0)
      await more()
      await worker.start(THIS_VERSION, WORKER)
      await more()
    })
  }

  await step('the ingresses are replaced, one at a time', async () => {
    await ingresses[0].start(THIS_VERSION, INGRESS)
    await more()
    assert.equal(await oldIngress.stop(), 0)
    await more()
    await ingresses[1].start(THIS_VERSION, INGRESS)
    await more()
  })

  await step('no request failed, and every event is stored once', async () => {
    load.stop()
    await loading
    const { stored, ...rest } = await judgeStored({ url, redisUrl: redis.url, clickhouseUrl: clickhouse.url }, [ledger])
    assert.deepEqual(rest, { lost: 0, doubled: 0, wrong: 0, examples: [] })
    const { answers } = view.seen()
    const failed = [...answers.keys()].filter((name) => !['200', '202', 'too many jobs', 'reset'].includes(name))
    assert.deepEqual(failed, [])
    t.diagnostic(`${stored} events, each stored once; answers ${JSON.stringify(Object.fromEntries(answers))}`)
    for (const machine of [...workers, ...ingresses]) assert.equal(await machine.stop(), 0)
  })

  async function tenantOf(machine: Machine): Promise<Ledger> {
    await machine.ipid(old, 'tenant', 'create', 'acme', '--plan', 'custom')
    const { key } = JSON.parse(await machine.ipid(old, 'key', 'create', 'acme', '--json'))
    const source = JSON.parse(await machine.ipid(old, 'source', 'create', 'acme', 'http', '--json'))
    return new Ledger('acme', key, source.key)
  }
})
