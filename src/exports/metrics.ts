import { Counter, type Registry } from 'prom-client'
import { gaugesOf, QUICK_READ } from '../operations/status/metrics.ts'
import { sharedRead } from '../operations/status/shared-read.ts'
import type { ExportsStatus } from '../operations/status/system-status.ts'

interface ExportMetrics {
  /** Counts an attempt to write a file. */
  attempted(result: 'done' | 'failed'): void
}

/** Metrics of exports. */
export function createExportMetrics(registry: Registry, read: () => Promise<ExportsStatus>): ExportMetrics {
  const attempts = new Counter({
    name: 'ipid_export_attempts_total',
    help: 'Attempts to write a file of an export, by result: done or failed (tried again later)',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of ['done', 'failed']) attempts.inc({ result }, 0)
  const exports = sharedRead(read, { ...QUICK_READ, freshMs: 14_000 })
  const help = 'Exports by state: ok, failed (the last attempt), or late (15 minutes after a file was due)'
  gaugesOf(registry)('ipid_exports', help, ['state'], async (set) => {
    const { count, failed, late } = await exports()
    set({ state: 'ok' }, count - failed - late)
    set({ state: 'failed' }, failed)
    set({ state: 'late' }, late)
  })
  return { attempted: (result) => attempts.inc({ result }) }
}
