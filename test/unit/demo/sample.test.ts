import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SAMPLE_TENANT, type TenantChange } from '../../../schemas/tenant.ts'
import { Sample } from '../../../src/operations/demo/sample.ts'
import type { DemoEvent } from '../../../src/operations/demo/visits.ts'
import type { Enrichment } from '../../../src/pipeline/event/enrichment.ts'
import type { Tenant } from '../../../src/tenants/tenancy.ts'

const NOW_MS = Date.UTC(2026, 10, 26, 12)
const DAY_MS = 86_400_000

/** Each network of 256 addresses is an organisation, and some are noise. */
const enrich = ({ text }: { readonly text: string }): Enrichment => {
  const network = text.slice(0, text.lastIndexOf('.'))
  const data = { domain: `company-${network}.example`, country_code: 'US' }
  return { noise: text.length % 5 === 0, classification: 'business', companyId: network, data } as unknown as Enrichment
}

/** Tenants in memory, and the uploads of the sample. */
function instance(...tenants: Partial<Tenant>[]) {
  let all = tenants.map((tenant) => ({ id: 'acme', ...tenant }) as Tenant)
  const uploads: DemoEvent[][] = []
  let nowMs = NOW_MS
  let unused = 0
  const applied = ({ shows_sample: shows, sample_until: until }: TenantChange) => ({
    ...(shows !== undefined && { showsSample: shows }),
    ...(until !== undefined && { sampleUntil: until }),
  })
  const sample = new Sample({
    admin: {
      listTenants: async () => all,
      async createTenant(id, change = {}) {
        const tenant = { id, ...applied(change) } as Tenant
        all = [...all, tenant]
        return tenant
      },
      async setTenant(id, change) {
        all = all.map((tenant) => (tenant.id === id ? { ...tenant, ...applied(change) } : tenant))
        return all.find((tenant) => tenant.id === id)!
      },
    },
    async upload(tenant, pieces) {
      assert.equal(tenant.id, SAMPLE_TENANT, 'only the tenant of its own gets events')
      let text = ''
      for await (const piece of pieces) text += piece
      uploads.push(
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as DemoEvent),
      )
    },
    enrich,
    clock: { now: () => nowMs },
    onUnused: () => unused++,
  })
  const pass = (days: number) => {
    nowMs += days * DAY_MS
  }
  return { sample, uploads, pass, unused: () => unused, tenant: (id: string) => all.find((each) => each.id === id) }
}

test('sample data are made once, and later days are added', async () => {
  const { sample, uploads, pass, tenant } = instance({})
  assert.equal(await sample.show('acme'), SAMPLE_TENANT)
  assert.equal(await sample.show('acme'), SAMPLE_TENANT)
  assert.equal(uploads.length, 1)
  assert.deepEqual([tenant('acme')!.showsSample, tenant(SAMPLE_TENANT)!.sampleUntil], [true, '2026-11-26'])
  const days = (events: readonly DemoEvent[]) =>
    [...new Set(events.map((event) => event.timestamp.slice(0, 10)))].sort()
  assert.ok(days(uploads[0]!).length >= 28)
  pass(3)
  await sample.show('acme')
  const [first, later] = uploads as [DemoEvent[], DemoEvent[]]
  assert.ok(later.length > 0 && days(later)[0]! >= '2026-11-26')
  const ids = [...first, ...later].map(({ event_id: id }) => id)
  assert.equal(new Set(ids).size, ids.length, 'each event has an id of its own')
  const ips = new Set(first.map(({ ip }) => ip))
  assert.ok(
    later.some(({ ip }) => ips.has(ip)),
    'the same companies come back',
  )
})

test('two calls at once make the same events, which are stored once', async () => {
  const [one, two] = [instance({}), instance({})]
  await Promise.all([one.sample.show('acme'), two.sample.show('acme')])
  assert.deepEqual(one.uploads, two.uploads)
})

test('sample data are unused when no tenant shows them any more', async () => {
  const { sample, unused, tenant } = instance({ id: 'acme' }, { id: 'other' })
  for (const id of ['acme', 'other']) await sample.show(id)
  await sample.hide('acme')
  assert.deepEqual([tenant('acme')!.showsSample, unused()], [false, 0])
  await sample.hide('other')
  assert.equal(unused(), 1)
})

test('a tenant of the same name, and sample data that are being removed, are left alone', async () => {
  await assert.rejects(instance({}, { id: SAMPLE_TENANT }).sample.show('acme'), /is called sample-data/)
  const removed = { id: SAMPLE_TENANT, sampleUntil: '2026-11-26', deleting: true }
  await assert.rejects(instance({}, removed).sample.show('acme'), /being removed: try again/)
})
