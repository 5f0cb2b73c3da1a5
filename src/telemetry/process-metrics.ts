import { Counter, type Registry } from 'prom-client'

/** Counters of the supervisor. */
export interface SupervisorMetrics {
  /** Announces a child that may be restarted, so that its counter exists and `increase()` sees the first restart. */
  watched(process: string): void
  /** A child ended by itself and is restarted. */
  restarted(process: string): void
}

export function createSupervisorMetrics(registry: Registry): SupervisorMetrics {
  const restarts = new Counter({
    name: 'ipid_process_restarts_total',
    help: 'Child processes that ended by themselves and were started again',
    labelNames: ['process'],
    registers: [registry],
  })
  return {
    watched: (process) => restarts.inc({ process }, 0),
    restarted: (process) => restarts.inc({ process }),
  }
}
