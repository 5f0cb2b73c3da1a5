import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { DataFile } from './files/folder.ts'

/** The first files get metrics of their own. */
const FILES_MAX = 200

export interface EnrichmentMetrics {
  /** Sets the gauges of all files. @param renewed names of the files that a source keeps up to date */
  fileStates(files: readonly DataFile[], renewed: ReadonlySet<string>): void
  /** Counts a file that was loaded or refused. */
  loaded(result: 'ok' | 'refused', seconds: number): void
  /** Counts a record that could not be read and was skipped. */
  recordFailed(provider: string): void
}

export function enrichmentMetrics(registry: Registry, cachedAnswers: () => number): EnrichmentMetrics {
  const registers = [registry]
  const state = new Gauge({
    name: 'ipid_enrichment_file_state',
    help: '1 for the state of each enrichment file: ok, waiting, stale (a newer version was refused), failed, ignored (no data) or replaced (by newer data)',
    labelNames: ['provider', 'state'],
    registers,
  })
  const loads = new Counter({
    name: 'ipid_enrichment_loads_total',
    help: 'Enrichment files that were loaded, by result',
    labelNames: ['result'],
    registers,
  })
  for (const result of ['ok', 'refused']) loads.inc({ result }, 0)
  const seconds = new Histogram({
    name: 'ipid_enrichment_load_seconds',
    help: 'Time that it took to load an enrichment file',
    buckets: [0.01, 0.1, 0.5, 1, 5, 10, 30, 60],
    registers,
  })
  const built = new Gauge({
    name: 'ipid_enrichment_built_timestamp_seconds',
    help: 'Build time that each enrichment file states',
    labelNames: ['provider'],
    aggregator: 'min',
    registers,
  })
  const sourced = new Gauge({
    name: 'ipid_enrichment_has_source',
    help: '1 for each enrichment file that a source in sources.json updates, else 0',
    labelNames: ['provider'],
    aggregator: 'max',
    registers,
  })
  const failures = new Counter({
    name: 'ipid_enrichment_record_errors_total',
    help: 'Records that could not be read and were skipped',
    labelNames: ['provider'],
    registers,
  })
  new Gauge({
    name: 'ipid_enrichment_cached_answers',
    help: 'Addresses whose answer is cached',
    registers,
    collect() {
      this.set(cachedAnswers())
    },
  })
  return {
    fileStates(files, renewed) {
      for (const gauge of [state, built, sourced]) gauge.reset()
      for (const { name, state: its, provider } of files.slice(0, FILES_MAX)) {
        state.set({ provider: name, state: its }, 1)
        sourced.set({ provider: name }, renewed.has(name) ? 1 : 0)
        if (provider?.builtAt !== undefined) built.set({ provider: name }, provider.builtAt.getTime() / 1_000)
      }
    },
    loaded(result, duration) {
      loads.inc({ result })
      seconds.observe(duration)
    },
    recordFailed: (provider) => failures.inc({ provider }),
  }
}
