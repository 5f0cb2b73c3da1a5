import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SAMPLE_TENANT } from '../../../schemas/tenant.ts'
import { SampleRemoval } from '../../../src/operations/demo/sample-removal.ts'
import type { ErasableRecords } from '../../../src/operations/erasure/ports.ts'
import type { ShareLease } from '../../../src/stores/redis/membership.ts'
import type { Tenant } from '../../../src/tenants/tenancy.ts'
import { silent } from '../../support/pipeline.ts'

const MADE = { id: SAMPLE_TENANT, sampleUntil: '2026-11-26' }

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

/** Whether the removal of a tenant begins. It then waits until `end`. */
async function removalAmong(tenants: readonly Partial<Tenant>[], { isLeaseFree = true } = {}) {
  const calls: string[] = []
  const looked = gate()
  const held = gate()
  const lease = {
    async acquire() {
      if (!isLeaseFree) looked.open()
      return isLeaseFree
    },
    release: async () => void calls.push('release'),
  } as unknown as ShareLease
  const records = {
    async begin() {
      calls.push('begin')
      looked.open()
      await held.opened
      throw new Error('interrupted')
    },
  } as unknown as ErasableRecords
  const removal = new SampleRemoval({
    admin: {
      async listTenants() {
        setImmediate(() => setImmediate(looked.open))
        return tenants as Tenant[]
      },
    },
    lease,
    endCopies: async () => void calls.push('end copies'),
    open: () => ({ records }) as never,
    clock: { now: () => 0 },
    log: silent,
  })
  await removal.start()
  await looked.opened
  return { calls, removal, interrupt: held.open }
}

test('sample data are removed when no tenant shows them, after copies of stored events are ended', async () => {
  const begun = ['end copies', 'begin']
  for (const [name, tenants, expected] of [
    ['nobody shows them', [{ id: 'acme' }, MADE], begun],
    [
      'a removal was killed',
      [
        { id: 'acme', showsSample: true },
        { ...MADE, deleting: true },
      ],
      begun,
    ],
    ['who shows them is being deleted', [{ id: 'acme', showsSample: true, deleting: true }, MADE], begun],
    ['somebody shows them', [{ id: 'acme', showsSample: true }, MADE], []],
    ['a workspace has their name', [{ id: 'acme' }, { id: SAMPLE_TENANT }], []],
    ['there are none', [{ id: 'acme' }], []],
  ] as const) {
    const { calls, removal, interrupt } = await removalAmong(tenants)
    assert.deepEqual(calls, expected, name)
    interrupt()
    await removal.stop()
  }
  const busy = await removalAmong([MADE], { isLeaseFree: false })
  await busy.removal.stop()
  assert.deepEqual(busy.calls, [], 'another process changes stored events')
})

test('a stop does not wait for a removal that waits', async () => {
  const { calls, removal, interrupt } = await removalAmong([MADE])
  await removal.stop()
  assert.deepEqual(calls, ['end copies', 'begin'])
  interrupt()
})
