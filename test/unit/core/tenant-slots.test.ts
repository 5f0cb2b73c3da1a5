import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BackpressureError } from '../../../src/run/errors.ts'
import { type SlotLimits, TenantSlots } from '../../../src/run/tenant-slots.ts'

const LIMITS: SlotLimits = {
  ...{ ofTenant: 2, all: 3, waitingOfTenant: 3, waitMaxMs: 60_000 },
  ...{ refusal: 'too many', retrySeconds: 7 },
}

/** Work that ends on request. */
class Desk {
  readonly slots: TenantSlots
  /** In the order of their starts. */
  readonly begun: string[] = []
  readonly #ends = new Map<string, (error?: Error) => void>()

  constructor(limits: Partial<SlotLimits> = {}) {
    this.slots = new TenantSlots({ ...LIMITS, ...limits })
  }

  /** @param name its first letter is its tenant's */
  ask(name: string): Promise<string> {
    return this.slots.run(name[0]!, () => {
      this.begun.push(name)
      return new Promise((resolve, reject) => {
        this.#ends.set(name, (error) => (error ? reject(error) : resolve(name)))
      })
    })
  }

  async end(name: string, error?: Error): Promise<void> {
    this.#ends.get(name)!(error)
    await settled()
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

const tooMany = (error: unknown) =>
  error instanceof BackpressureError &&
  error.message === 'too many' &&
  error.retryAfterSeconds === 7 &&
  error.limit === 'questions'

test('slots are limited per tenant and in total, and go to tenants in turn', async () => {
  const desk = new Desk()
  const asked = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'].map((name) => desk.ask(name))
  await settled()
  assert.deepEqual(desk.begun, ['a1', 'a2', 'b1'])
  await desk.end('a1')
  assert.deepEqual(desk.begun.slice(3), ['c1'], 'a tenant without a slot comes before one with a slot')
  await desk.end('c1')
  await desk.end('a2')
  await desk.end('b1')
  assert.deepEqual(desk.begun.slice(4), ['a3', 'b2', 'a4'])
  for (const name of ['a3', 'b2', 'a4', 'a5']) await desk.end(name)
  assert.equal((await Promise.all(asked)).length, 8)
})

test('a queue is limited, and failed work gives its slot back', async () => {
  const desk = new Desk()
  const asked = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => desk.ask(name))
  await assert.rejects(desk.ask('a6'), tooMany)
  const other = desk.ask('b1')
  await settled()
  assert.deepEqual(desk.begun, ['a1', 'a2', 'b1'], "another tenant's line is its own")
  await Promise.all([assert.rejects(asked[0]!, /broken/), desk.end('a1', new Error('broken'))])
  assert.deepEqual(desk.begun.at(-1), 'a3')
  for (const name of ['a2', 'b1', 'a3', 'a4', 'a5']) await desk.end(name)
  await Promise.all([...asked.slice(1), other])
})

test('a caller that waits too long is refused, and takes no slot later', async () => {
  const desk = new Desk({ ofTenant: 1, all: 1, waitMaxMs: 1 })
  const first = desk.ask('a1')
  await assert.rejects(desk.ask('a2'), tooMany)
  await desk.end('a1')
  await first
  const third = desk.ask('b1')
  await settled()
  assert.deepEqual(desk.begun, ['a1', 'b1'])
  await desk.end('b1')
  await third
})

test('pieces hold their slot until their reader leaves', async () => {
  const slots = new TenantSlots({ ...LIMITS, ofTenant: 1, waitingOfTenant: 0 })
  async function* endless() {
    for (;;) yield 1
  }
  const pieces = slots.pass('a', endless())
  await pieces.next()
  await assert.rejects(slots.pass('a', endless()).next(), tooMany)
  await pieces.return(undefined)
  assert.equal((await slots.pass('a', endless()).next()).value, 1)
})
