import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CRM_LIMITS, type CrmRefusal, type CrmRun } from '../../../schemas/crm.ts'
import type { Crm, OutgoingCompany, SyncedCompanies } from '../../../src/crm/crm.ts'
import type { Connection, CrmState } from '../../../src/crm/redis/crm-store.ts'
import { CrmSyncer } from '../../../src/crm/syncer.ts'
import type { ShareLease } from '../../../src/stores/redis/membership.ts'
import type { Tenant } from '../../../src/tenants/tenancy.ts'
import { silent } from '../../support/pipeline.ts'
import { handClock } from '../../support/tenants.ts'
import { until } from '../../support/until.ts'

const START = Date.UTC(2026, 10, 25)
const HOUR_MS = 3_600_000
const NO_STATE: CrmState = { nextAtMs: 0, askedMs: 0, failures: 0, runs: [], refused: [] }

const company = (id: string): OutgoingCompany => ({
  ...{ company_id: id, name: id, domain: id, last_visit: '2026-11-24T10:00:00.000Z', visits: 1, heat: 1 },
  ...{ pages: [], segments: [] },
})
const refusal = (id: string): CrmRefusal => ({ company_id: id, name: id, domain: id, reason: 'odd' })
const NOTHING: SyncedCompanies = { created: 0, updated: 0, unchanged: 0, refused: [], brought: [] }

/** A syncer whose stores are in memory, and whose CRM takes one company at a time. */
function start(t: TestContext, companies: readonly string[] = []) {
  const clock = handClock(START)
  const connections = new Map<string, Connection>()
  const states = new Map<string, CrmState>()
  const runs: CrmRun[] = []
  const begun: string[] = []
  const brought: string[] = []
  const world = {
    ...{ clock, connections, states, runs, begun, brought },
    unfit: { count: 0, first: [] as readonly CrmRefusal[] },
    begin: async (_connection: Connection): Promise<void> => {},
    sync: async (_company: string): Promise<SyncedCompanies> => NOTHING,
    connect(tenantId: string, state: Partial<CrmState> = {}, id = `crm_${tenantId}`) {
      const at = { connected_at: '', connected_by: 'Ada' }
      connections.set(tenantId, { ...at, id, kind: 'hubspot', token: '', tenantId })
      states.set(tenantId, { ...NO_STATE, ...state })
    },
    /** Starts it, and waits for this many runs. */
    async ran(count: number) {
      await syncer.start()
      t.after(() => syncer.stop())
      await until(() => runs.length >= count)
      return runs
    },
  }
  const opened = (connection: Connection): Crm => ({
    companiesMax: 1,
    async begin() {
      begun.push(connection.tenantId)
      await world.begin(connection)
    },
    sync: ([one]) => world.sync(one!.company_id),
  })
  const isCurrent = ({ tenantId, id }: Connection) => connections.get(tenantId)?.id === id
  const syncer = new CrmSyncer({
    lease: { acquire: async () => true, release: async () => {}, assertHeld() {} } as unknown as ShareLease,
    ...{ clock, log: silent, open: opened, onRun: (run) => runs.push(run) },
    getTenant: async (id) => ({ id }) as Tenant,
    crm: {
      all: async () => [...connections.values()],
      get: async (tenantId) => connections.get(tenantId),
      state: async (tenantId) => states.get(tenantId) ?? NO_STATE,
      asked: async () => 0,
      remove: async (tenantId) => connections.delete(tenantId),
      async settle(_lease, connection, state) {
        if (isCurrent(connection)) states.set(connection.tenantId, state)
        return isCurrent(connection)
      },
    },
    outgoing: {
      of: async () => ({ companies: companies.map(company), unfit: world.unfit, leftOut: 0 }),
      withPages: async (_tenant, some) => some.map(({ company_id }) => company(company_id)),
    },
    corrections: {
      async bring(_tenantId, _by, values) {
        brought.push(...values.map(({ company_id }) => company_id))
        return values.length
      },
    },
  })
  return world
}

for (const [how, change] of [
  ['ended', ({ connections }: ReturnType<typeof start>) => connections.delete('acme')],
  ['replaced', ({ connect }: ReturnType<typeof start>) => connect('acme', { nextAtMs: START + HOUR_MS }, 'crm_other')],
] as const) {
  test(`a run ends when its connection is ${how}: no further part is sent, and nothing is read`, async (t) => {
    const world = start(t, ['a.example', 'b.example', 'c.example'])
    const sent: string[] = []
    world.sync = async (id) => {
      sent.push(id)
      if (id === 'b.example') change(world)
      return { ...NOTHING, created: 1, brought: [{ company_id: id, field: 'owner', value: 'Ada', atMs: START }] }
    }
    world.connect('acme')
    const [run] = await world.ran(1)
    assert.deepEqual([sent, world.brought, run!.created], [['a.example', 'b.example'], [], 2])
    assert.match(run!.error!, /^the connection was ended or replaced$/)
    assert.deepEqual(world.states.get('acme')!.runs, [])
  })

  test(`a connection that was ${how} before its run began is not opened`, async (t) => {
    const world = start(t)
    world.connect('acme')
    world.connect('later', { nextAtMs: 1 })
    // Read with the others, and changed before its turn.
    const { get } = world.states
    world.states.get = (tenantId) => {
      if (tenantId === 'later') change(world)
      return get.call(world.states, tenantId)
    }
    await world.ran(1)
    assert.deepEqual(world.begun, ['later'])
  })
}

test('those that wait longest run first, and a tenant whose clock was ahead does not wait for it', async (t) => {
  const world = start(t)
  const ends: (() => void)[] = []
  world.begin = () => new Promise((resolve) => void ends.push(resolve))
  for (let i = 0; i < 6; i++) world.connect(`t${i}`, { nextAtMs: START - i })
  world.connect('ahead', { nextAtMs: START + 400 * 24 * HOUR_MS })
  world.connect('planned', { nextAtMs: START + HOUR_MS })
  const done = world.ran(7)
  await until(() => ends.length === 4)
  assert.deepEqual(world.begun, ['ahead', 't5', 't4', 't3'])
  for (const end of ends.splice(0)) end()
  await until(() => ends.length === 3)
  for (const end of ends) end()
  await done
  assert.deepEqual(world.begun.slice(4), ['t2', 't1', 't0'])
})

test('refused companies are counted, and the first of them are kept, however many there are', async (t) => {
  const world = start(t, ['a.example', 'b.example'])
  world.unfit = { count: 900_000, first: [refusal('unfit')] }
  world.sync = async () => ({ ...NOTHING, refused: Array.from({ length: 150 }, (_, i) => refusal(`c${i}`)) })
  world.connect('acme')
  const [run] = await world.ran(1)
  const { refused } = world.states.get('acme')!
  assert.deepEqual([run!.refused, refused.length, refused[0]!.company_id], [900_300, CRM_LIMITS.refused, 'unfit'])
})
