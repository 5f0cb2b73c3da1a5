import { Counter, Gauge, type Registry } from 'prom-client'
import type { FileState } from './files/folder.ts'

/** What the engine counts. */
export interface EnrichmentMetrics {
  /** 1 for the state that each file is in. */
  fileStates(files: readonly { readonly name: string; readonly state: FileState }[]): void
  /** A file was taken, or refused. */
  loaded(result: 'ok' | 'refused'): void
  /** A record could not be read in an answer that was given without it. */
  recordFailed(provider: string): void
}

export function enrichmentMetrics(registry: Registry, cachedAnswers: () => number): EnrichmentMetrics {
  const registers = [registry]
  const state = new Gauge({
    name: 'ipid_enrichment_file_state',
    help: '1 for the state of each enrichment file: ok, stale (a newer version was refused), failed or ignored',
    labelNames: ['provider', 'state'],
    registers,
  })
  const loads = new Counter({
    name: 'ipid_enrichment_loads_total',
    help: 'Enrichment files that were loaded, by result',
    labelNames: ['result'],
    registers,
  })
  const failures = new Counter({
    name: 'ipid_enrichment_record_errors_total',
    help: 'Records that could not be read; their lookups were answered without them',
    labelNames: ['provider'],
    registers,
  })
  new Gauge({
    name: 'ipid_enrichment_cached_answers',
    help: 'Addresses whose answer is remembered',
    registers,
    collect() {
      this.set(cachedAnswers())
    },
  })
  return {
    fileStates(files) {
      state.reset()
      for (const file of files) state.set({ provider: file.name, state: file.state }, 1)
    },
    loaded: (result) => loads.inc({ result }),
    recordFailed: (provider) => failures.inc({ provider }),
  }
}
