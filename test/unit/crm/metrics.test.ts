import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import type { CrmRun } from '../../../schemas/crm.ts'
import { createCrmMetrics } from '../../../src/crm/metrics.ts'
import type { Connection, CrmState } from '../../../src/crm/redis/crm-store.ts'

test('a connection whose last run ended early is not ok, also when HubSpot asked to wait', async () => {
  const run = (error: string | null): CrmRun => ({
    ...{ at: '', took_ms: 0, created: 0, updated: 0, unchanged: 0, refused: 0, brought: 0, left_out: 0 },
    error,
  })
  const runs: Readonly<Record<string, readonly CrmRun[]>> = {
    new: [],
    done: [run(null), run('HubSpot fails')],
    // It counts as no failure, so that the next run comes as soon as HubSpot allows it.
    busy: [run('HubSpot asks to wait')],
  }
  const connection = { id: '', kind: 'hubspot', token: '', connected_at: '', connected_by: '' } as const
  const registry = new Registry()
  createCrmMetrics(registry, {
    all: async () => Object.keys(runs).map((tenantId): Connection => ({ ...connection, tenantId })),
    state: async (tenantId) =>
      ({ nextAtMs: 0, askedMs: 0, failures: 0, refused: [], runs: runs[tenantId]! }) satisfies CrmState,
  })
  const text = await registry.metrics()
  assert.match(text, /ipid_crm_connections\{state="ok"\} 2\n/)
  assert.match(text, /ipid_crm_connections\{state="failed"\} 1\n/)
})
