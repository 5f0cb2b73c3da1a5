import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startInstance, type TestInstance, VICTIMS } from '../support/instance.ts'
import { until } from '../support/until.ts'

const EVENTS = 10_000
const PER_REQUEST = 50

interface Sent {
  readonly event_id: string
  readonly ip: string
  readonly timestamp: string
}

/** Event number `n`: one of two organisations, 40 addresses each, over three days. */
function eventOf(n: number): Sent {
  const net = n % 2 === 0 ? 17 : 18
  return {
    event_id: `e${n}`,
    ip: `${net}.1.1.${n % 40}`,
    timestamp: `2026-11-${String(10 + (n % 3)).padStart(2, '0')}T12:00:00Z`,
  }
}

/** Sends every event at least once, one in five again, and a request that failed until it is confirmed. */
async function sendAll(instance: TestInstance, progress: { sent: number }): Promise<void> {
  const requests: Sent[][] = []
  for (let n = 0; n < EVENTS; n += PER_REQUEST) {
    const request = Array.from({ length: PER_REQUEST }, (_, i) => eventOf(n + i))
    requests.push(request)
    if (n >= PER_REQUEST && n % (5 * PER_REQUEST) === 0)
      requests.push(Array.from(request, (_, i) => eventOf(n - 1 - i)))
  }
  const send = async () => {
    for (let request = requests.shift(); request !== undefined; request = requests.shift()) {
      const events = request
      await until(async () => {
        const answer = await instance.post('/v1/ingest', { events }).catch(() => undefined)
        if (answer === undefined) return false
        assert.ok(answer.status === 200 || answer.status === 500, `status ${answer.status}`)
        await answer.arrayBuffer()
        return answer.status === 200
      })
      progress.sent += events.length
    }
  }
  await Promise.all([send(), send(), send(), send()])
}

test('every process killed once while events with repeats come in: each is stored exactly once', async (t) => {
  const instance = await startInstance(t)
  const progress = { sent: 0 }
  const sending = sendAll(instance, progress)
  const reach = (share: number) => until(() => progress.sent >= EVENTS * share)
  let share = 0.05
  for (const victim of VICTIMS) {
    await reach(share)
    instance.kill(victim)
    share += 0.15
  }
  await reach(0.8)
  await instance.restart()
  await sending

  await until(async () => Number(await instance.query('SELECT count() FROM events')) >= EVENTS)
  const truth = new Map<string, { events: number; visits: Set<string>; ips: Set<string> }>()
  for (let n = 0; n < EVENTS; n++) {
    const { ip, timestamp } = eventOf(n)
    const account = ip.startsWith('17.') ? 'fruit.example' : 'school.example'
    const known = truth.get(account) ?? { events: 0, visits: new Set(), ips: new Set() }
    known.events++
    known.visits.add(`${ip} ${timestamp.slice(0, 10)}`)
    known.ips.add(ip)
    truth.set(account, known)
  }
  await until(
    async () => (await instance.post('/v1/ingest', { events: [{ ip: '17.9.9.9', event_id: 'last' }] })).status === 200,
  )
  await until(async () => Number(await instance.query("SELECT count() FROM events WHERE event_id = 'last'")) > 0)
  assert.equal(await instance.query('SELECT count(), uniqExact(event_id) FROM events'), `${EVENTS + 1}\t${EVENTS + 1}`)
  const stored = await instance.query(
    "SELECT account_id, events, visits, unique_ips FROM accounts WHERE account_id = 'school.example'",
  )
  const school = truth.get('school.example')!
  assert.equal(stored, `school.example\t${school.events}\t${school.visits.size}\t${school.ips.size}`)
  const fruit = truth.get('fruit.example')!
  assert.equal(
    await instance.query("SELECT events, visits, unique_ips FROM accounts WHERE account_id = 'fruit.example'"),
    `${fruit.events + 1}\t${fruit.visits.size + 1}\t${fruit.ips.size + 1}`,
  )
  assert.equal(await instance.stop(), 0)
  assert.deepEqual(instance.pids().others, [])
  assert.deepEqual(instance.pids().redis, [])
})
