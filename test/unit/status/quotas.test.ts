import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { sharedRead } from '../../../src/operations/status/shared-read.ts'
import { QuotaWatch } from '../../../src/tenants/quotas.ts'
import { silent } from '../../support/pipeline.ts'

test('the tenants nearest to their quota are shown, with the time of passing, read once', async () => {
  const metrics = new Registry()
  const tenants = Array.from({ length: 50 }, (_, i) => {
    return { id: `t${i}`, plan: { daily_lookups: i === 3 ? 1_000 : 10, monthly_accounts: 5 }, lookupsToday: i === 2 ? 10 : i }
  })
  const asked: string[] = []
  const watch = new QuotaWatch({
    store: {
      tenants: async () => tenants,
      accounts: async (month) =>
        new Map([[`t3`, month === '2026-11' ? 6 : 0], ...tenants.slice(10).map(({ id }) => [id, 1] as const)]),
      passedAt: async (id, month, limit) => {
        asked.push(`${id} ${month} ${limit}`)
        return '2026-11-21T10:00:00.000Z'
      },
    },
    clock: { now: () => Date.parse('2026-11-22T08:00:00Z') },
    metrics,
    log: silent,
  })
  assert.equal(watch.status, undefined)
  await watch.look()
  await watch.look()
  assert.deepEqual(asked, ['t3 2026-11 5'])
  assert.deepEqual(watch.status!.passed, { daily_lookups: 41, monthly_accounts: 1 })
  assert.deepEqual(watch.status!.highest.length, 40)
  const text = await metrics.metrics()
  assert.match(text, /ipid_tenants_over_quota\{quota="daily_lookups"\} 41\n/)
  assert.match(text, /ipid_tenant_quota_used\{tenant="t49",quota="daily_lookups"\} 49\n/)
  assert.match(text, /ipid_tenant_quota_limit\{tenant="t3",quota="monthly_accounts"\} 5\n/)
  assert.match(text, /ipid_tenant_quota_passed_timestamp_seconds\{tenant="t3",quota="monthly_accounts"\} 1795255200\n/)
  assert.equal(text.match(/^ipid_tenant_quota_used\{/gm)!.length, 40, 'it does not grow with the tenants')
})

test('a late answer serves the next call, a fresh one is not read again, a failure not kept', async () => {
  const answers: ((value: string) => void)[] = []
  let isDropped = false
  let reads = 0
  const read = sharedRead(
    () => {
      reads++
      return isDropped ? Promise.reject(new Error('no table')) : new Promise<string>((resolve) => answers.push(resolve))
    },
    { freshMs: 0, lateMs: 1 },
  )
  await assert.rejects(Promise.race([read(), read()]), /no answer in time/)
  assert.equal(reads, 1, 'a read under way is shared')
  answers[0]!('first')
  await setImmediate()
  assert.equal(await read(), 'first', 'the second read is late, so the previous answer is given')
  answers[1]!('second')
  await setImmediate()
  isDropped = true
  await assert.rejects(read(), /no table/)
  isDropped = false
  const again = read()
  answers[2]!('third')
  assert.equal(await again, 'third')
  const slow = sharedRead(async () => ++reads, { freshMs: 60_000, lateMs: 1_000 })
  assert.equal(await slow(), await slow())
})
