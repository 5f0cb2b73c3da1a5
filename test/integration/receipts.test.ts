import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { EventFate, type EventReceipt } from '../../schemas/api/receipt.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { partitionOf } from '../../src/pipeline/event/envelope.ts'
import { rowTail } from '../../src/pipeline/event/make-row.ts'
import { compileValidator } from '../../src/pipeline/event/validator.ts'
import { deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { readArchive } from '../support/archive.ts'
import { envelope } from '../support/pipeline.ts'
import { TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const BUSINESS = '17.253.144.10'
const PARTITIONS = 4

test('a receipt says the outcome of an event', async (t) => {
  const step = stepsOf(t)
  const site = new TestSite(t, { ARCHIVE_PART_AGE_MS: '200' })
  const run = site.start()
  const ready = await run.ready()
  const redis = new Redis({ path: ready.redis_url.replace('unix://', '') })
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  const store = new FolderStore(join(site.dir, 'archive'))
  const ipid = async (...args: string[]) => {
    const result = await site.ipid(...args)
    assert.equal(result.code, 0, result.stderr)
    return result.stdout
  }
  await ipid('tenant', 'create', 'kept', '--plan', 'custom', '--archive', 'on')
  const keyOf = async (tenant: string) => JSON.parse(await ipid('key', 'create', tenant, '--json')).key as string
  const [demo, kept] = [ready.api_key!, await keyOf('kept')]
  await ipid('tenant', 'set', 'demo', '--plan', 'custom')

  const send = async (key: string, requestId: string, ...events: object[]) => {
    const headers = { 'x-api-key': key, 'x-request-id': requestId }
    const body = JSON.stringify({ events })
    const answer = await fetch(`${ready.url}/v1/ingest`, { method: 'POST', headers, body })
    assert.equal(answer.status, 200)
    return ((await answer.json()) as { results: { event_id: string }[] }).results.map(({ event_id }) => event_id)
  }
  const ask = async (key: string, eventId: string) => {
    const url = `${ready.url}/v1/events/${encodeURIComponent(eventId)}`
    const answer = await fetch(url, { headers: { 'x-api-key': key } })
    return { status: answer.status, json: (await answer.json()) as EventFate & { detail: string } }
  }
  const schemaErrors = compileValidator(EventFate)
  const fateOf = async (key: string, eventId: string) => {
    const { status, json } = await ask(key, eventId)
    assert.equal(status, 200, json.detail)
    assert.deepEqual(schemaErrors(json), [])
    return json
  }
  /** The receipts, newest first, once the event has this outcome. */
  const untilFate = async (key: string, eventId: string, ...statuses: EventReceipt['status'][]) =>
    await until(async () => {
      const { receipts } = await fateOf(key, eventId)
      return receipts.map(({ status }) => status).join() === statuses.join() ? receipts : undefined
    })
  const event = (id: string, ip = BUSINESS) => ({ ip, event_id: id })

  await step('is available from the answer on, on the way, and once stored', async () => {
    await redis.set(keys.lease('clickhouse'), 'the test')
    const [made] = await send(demo, 'request 1', event('a/é'), { ip: BUSINESS })
    const { receipts, ...rest } = await fateOf(demo, 'a/é')
    assert.deepEqual(rest, { event_id: 'a/é', status: 'in_progress' })
    const [{ received_at, ...receipt }] = receipts as [EventReceipt]
    assert.ok(Math.abs(Date.parse(received_at!) - Date.now()) < 60_000)
    const facts = { lane: 'live', request_id: 'request 1', classification: 'business' }
    assert.deepEqual(receipt, { status: 'in_progress', ...facts })
    assert.equal(made, 'a/é')
    await redis.del(keys.lease('clickhouse'))
    const stored = await untilFate(demo, 'a/é', 'stored')
    assert.deepEqual(stored, [{ status: 'stored', received_at, ...facts }])
    const sql = "SELECT request_id, count() FROM events WHERE tenant_id = 'demo' GROUP BY request_id FORMAT TSV"
    await until(async () => (await ipid('sql', sql)) === 'request 1\t2\n')
  })

  await step('is shown to its tenant only', async () => {
    assert.equal((await ask(kept, 'a/é')).status, 404)
    assert.equal((await ask(demo, 'never')).status, 404)
    assert.equal((await ask(demo, "a' OR event_id != '")).status, 404)
  })

  await step('a line of a batch job names its job, and a made id is known once stored', async () => {
    const headers = { 'x-api-key': demo }
    const body = `{"ip":"${BUSINESS}","event_id":"line"}\n`
    const upload = await fetch(`${ready.url}/v1/ingest/batch`, { method: 'POST', headers, body })
    const { job_id } = (await upload.json()) as { job_id: string }
    const [{ received_at: _, ...receipt }] = await until(async () => {
      const { status, json } = await ask(demo, 'line')
      return status === 200 && json.status === 'stored' ? (json.receipts as [EventReceipt]) : undefined
    })
    assert.deepEqual(receipt, { status: 'stored', lane: 'batch', job_id, classification: 'business' })
    const [id] = await send(demo, 'r', { ip: BUSINESS })
    await untilFate(demo, id!, 'stored')
  })

  await step('without an archive filtered, invalid and repeated events leave no receipt', async () => {
    await send(demo, 'r', event('noise', '10.0.0.1'), event('none', 'nowhere'), event('a/é'))
    for (const id of ['noise', 'none']) {
      const { status, json } = await ask(demo, id)
      assert.deepEqual([status, Object.keys(json)], [404, ['detail', 'code']])
      assert.match(json.detail, /without an archive nothing is kept of filtered and invalid events/)
    }
    await untilFate(demo, 'a/é', 'stored')
  })

  await step('with an archive every event has a receipt, with its location', async () => {
    await send(
      kept,
      'first',
      event('x'),
      event('noise', '10.0.0.1'),
      event('none', 'nowhere'),
      event('twice'),
      event('twice'),
    )
    await send(kept, 'again', event('x'))
    await until(async () => (await readArchive(store)).flatMap(({ events }) => events).length === 6)
    const receipts = await untilFate(kept, 'x', 'duplicate', 'stored')
    assert.deepEqual(
      receipts.map(({ request_id }) => request_id),
      ['again', 'first'],
    )
    const [noise] = await untilFate(kept, 'noise', 'filtered')
    const [none] = await untilFate(kept, 'none', 'invalid_ip')
    assert.deepEqual([noise!.request_id, none!.request_id], ['first', 'first'])
    for (const { archived } of [...receipts, noise!, none!]) assert.match(archived!, /^tenant=kept\/.*\.ndjson\.gz$/)
    await until(
      async () =>
        (await fateOf(kept, 'twice')).receipts
          .map(({ status }) => status)
          .sort()
          .join() === 'duplicate,stored',
    )
  })

  await step('a dead letter shows its reason', async () => {
    const dead = envelope('demo', 'dead')
    const block = packBlock([{ ...dead, row: dead.row + rowTail({ requestId: 'r 7' }) }])
    const origin = { group: 'clickhouse', stream: 'enriched', lane: 'live', claimId: undefined } as const
    const fields = deadLetterFields(origin, { reason: 'refused', block, outcome: undefined })
    const partition = partitionOf(dead.identity, PARTITIONS)
    const letter = String(await redis.callBuffer('XADD', keys.dead(partition), '*', ...fields))
    const [receipt] = await untilFate(demo, 'dead', 'dead')
    assert.deepEqual(
      [receipt!.request_id, receipt!.reason, receipt!.dead_letter],
      ['r 7', 'refused', `${partition}:${letter}`],
    )
    await ipid('dead-letter', 'retry', `${partition}:${letter}`)
    await untilFate(demo, 'dead', 'stored')
  })

  await step('on the command line', async () => {
    assert.deepEqual(JSON.parse(await ipid('event', 'demo', 'a/é', '--json')), await fateOf(demo, 'a/é'))
    assert.match(
      await ipid('event', 'demo', 'a/é'),
      /^event {4}a\/é\nstatus {3}stored\n\nreceived .*\nstatus +stored\nreceived from +request request 1\n/,
    )
    const noise = await ipid('event', 'kept', 'noise', '--received-at', new Date().toISOString())
    assert.match(noise, /\nreceived from +request first\n.*\narchived +tenant=kept\/.*\n$/)
    const unknown = await site.ipid('event', 'demo', 'never')
    assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
    assert.match(unknown.stderr, /^ipid: there is no such event;/)
    assert.equal((await site.ipid('event', 'nobody', 'a')).code, 2)
    assert.equal((await site.ipid('event', 'demo', '')).code, 2)
  })
})
