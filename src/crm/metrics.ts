import { Counter, type Registry } from 'prom-client'
import type { CrmRun } from '../../schemas/crm.ts'
import { gaugesOf, QUICK_READ } from '../operations/status/metrics.ts'
import { sharedRead } from '../operations/status/shared-read.ts'
import type { RedisCrm } from './redis/crm-store.ts'

const RESULTS = ['created', 'updated', 'refused'] as const

/** Metrics of CRMs. */
export function createCrmMetrics(registry: Registry, crm: Pick<RedisCrm, 'all' | 'state'>): { ran(run: CrmRun): void } {
  const runs = new Counter({
    name: 'ipid_crm_runs_total',
    help: 'Runs that brought a CRM up to date, by result: done, or failed (ended early)',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of ['done', 'failed']) runs.inc({ result }, 0)
  const companies = new Counter({
    name: 'ipid_crm_companies_total',
    help: 'Companies in CRMs by result: created, updated, or refused (also in each later run)',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of RESULTS) companies.inc({ result }, 0)
  const states = sharedRead(() => readStates(crm), { ...QUICK_READ, freshMs: 14_000 })
  const help =
    'Connections to a CRM by state: ok, failed (the last run ended early), or stopped (until a person does something)'
  gaugesOf(registry)('ipid_crm_connections', help, ['state'], async (set) => {
    for (const [state, count] of Object.entries(await states())) set({ state }, count)
  })
  return {
    ran(run) {
      runs.inc({ result: run.error === null ? 'done' : 'failed' })
      for (const result of RESULTS) companies.inc({ result }, run[result])
    },
  }
}

async function readStates(crm: Pick<RedisCrm, 'all' | 'state'>) {
  const counts = { ok: 0, failed: 0, stopped: 0 }
  for (const { tenantId, stopped } of await crm.all()) {
    if (stopped !== undefined) counts.stopped++
    else if ((await crm.state(tenantId)).runs[0]?.error) counts.failed++
    else counts.ok++
  }
  return counts
}
