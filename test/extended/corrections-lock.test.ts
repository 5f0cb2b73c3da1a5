import assert from 'node:assert/strict'
import { test } from 'node:test'
import { correctionsLock } from '../../src/companies/corrections/lock.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { redis, tenant, tenants } from '../support/dashboard-access.ts'

/** A lock held by another process, and the actions of its writers. */
function writers() {
  const steps: string[] = []
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  const open = { promise, resolve: () => resolve() }
  const write = (name: string, wait?: Promise<void>) => async () => {
    steps.push(`${name} begins`)
    await wait
    steps.push(`${name} ends`)
  }
  return { steps, open, write }
}

test('two processes correct companies one after the other, and a failure lets the next one in', async () => {
  const { steps, open, write } = writers()
  const [one, other] = [correctionsLock(redis), correctionsLock(redis)]
  const first = one('acme', write('first', open.promise))
  while (steps.length === 0) await new Promise(setImmediate)
  const second = other('acme', write('second'))
  const failing = one('acme', async () => {
    throw new Error('no')
  })
  failing.catch(() => {})
  const third = one('acme', write('third'))
  assert.equal(steps.length, 1)
  open.resolve()
  await Promise.all([first, second, third])
  await assert.rejects(failing, /^Error: no$/)
  for (const name of ['first', 'second', 'third']) {
    assert.equal(steps.indexOf(`${name} ends`), steps.indexOf(`${name} begins`) + 1, steps.join())
  }
})

test('a deletion waits for a correction that is being written, and none follows', async () => {
  const { steps, open, write } = writers()
  const lock = correctionsLock(redis)
  await tenants.createTenant(tenant('leaving'))
  const first = lock('leaving', write('first', open.promise))
  while (steps.length === 0) await new Promise(setImmediate)
  const removal = new RedisTenantRemoval(redis)
  const marked = removal.mark('leaving').then(() => steps.push('marked'))
  while (!(await tenants.getTenant('leaving'))!.deleting) await new Promise(setImmediate)
  open.resolve()
  await Promise.all([first, marked])
  assert.deepEqual(steps, ['first begins', 'first ends', 'marked'])
  await assert.rejects(lock('leaving', write('late')), {
    name: 'InputError',
    message: 'tenant leaving is being deleted',
  })
  await removal.removeKeys('leaving')
  await removal.removeRecord('leaving')
  await assert.rejects(lock('leaving', write('late')), { name: 'InputError', message: 'unknown tenant "leaving"' })
  assert.equal(steps.length, 3)
})
