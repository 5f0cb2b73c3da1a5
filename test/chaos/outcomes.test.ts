import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startInstance, type TestInstance } from '../support/instance.ts'
import { until } from '../support/until.ts'

const REQUESTS = 150
const PER_REQUEST = 40
const EVENTS = REQUESTS * PER_REQUEST

interface Sent {
  readonly ip: string
  readonly event_id: string
}

/** Event number `n`: of every ten, six are noise of two kinds, one has no address, and one is a repeat of the one before. */
function eventOf(n: number): Sent {
  const kind = n % 10
  if (kind < 4) return { ip: `3.0.0.${kind}`, event_id: `cloud${n}` }
  if (kind < 6) return { ip: '10.0.0.1', event_id: `reserved${n}` }
  if (kind === 6) return { ip: 'nowhere', event_id: `invalid${n}` }
  if (kind === 7) return { ip: '17.0.0.1', event_id: `e${n}` }
  if (kind === 8) return { ip: '17.0.0.2', event_id: `e${n - 1}` }
  return { ip: '18.0.0.1', event_id: `e${n}` }
}

const TENTH = EVENTS / 10
const LEDGER = [
  `live\tduplicates\t\tbusiness\t${TENTH}`,
  `live\tfiltered\t\tcloud\t${4 * TENTH}`,
  `live\tfiltered\t\treserved\t${2 * TENTH}`,
  `live\tinvalid_ip\t\t\t${TENTH}`,
  `live\tstored\t\tbusiness\t${TENTH}`,
  `live\tstored\t\teducation\t${TENTH}`,
].join('\n')

async function sendAll(instance: TestInstance, progress: { sent: number }): Promise<void> {
  let next = 0
  const send = async () => {
    while (next < REQUESTS) {
      const first = next++ * PER_REQUEST
      const events = Array.from({ length: PER_REQUEST }, (_, i) => eventOf(first + i))
      const answer = await instance.post('/v1/ingest', { events })
      await answer.arrayBuffer()
      assert.equal(answer.status, 200)
      progress.sent += events.length
    }
  }
  await Promise.all([send(), send()])
}

test('worker, sink and ClickHouse killed again and again: daily_outcomes is what was sent, to the last event', async (t) => {
  const instance = await startInstance(t)
  const progress = { sent: 0 }
  const sending = sendAll(instance, progress)
  for (const [share, victim] of [
    [0.1, 'ipid process,sink'],
    [0.3, 'embedded/clickhouse'],
    [0.5, 'ipid process,sink'],
    [0.8, 'embedded/clickhouse'],
    [0.9, 'ipid process,sink'],
  ] as const) {
    await until(() => progress.sent >= EVENTS * share)
    // One that was killed a moment ago may not be there again yet.
    await until(
      () => instance.kill(victim),
      () => true,
    )
  }
  await sending
  const total = 'SELECT sum(events) FROM daily_outcomes'
  await until(async () => Number(await instance.query(total)) >= EVENTS)
  const outcomes = `SELECT lane, status, reason, classification, sum(events) FROM daily_outcomes
    WHERE tenant_id = 'demo' GROUP BY ALL ORDER BY ALL`
  assert.equal(await instance.query(outcomes), LEDGER)
  assert.equal(await instance.query(total), String(EVENTS))
  assert.equal(await instance.stop(), 0)
})
