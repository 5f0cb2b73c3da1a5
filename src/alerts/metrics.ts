import { Counter, type Registry } from 'prom-client'
import { gaugesOf, QUICK_READ } from '../operations/status/metrics.ts'
import { sharedRead } from '../operations/status/shared-read.ts'
import type { WaitingDeliveries } from './redis/delivery-store.ts'

interface AlertMetrics {
  /** Counts an attempt to deliver a message. */
  attempted(result: 'delivered' | 'retried' | 'failed'): void
}

interface AlertReads {
  readonly waiting: () => Promise<WaitingDeliveries>
  /** When the company that waits longest for its evaluation was noted, milliseconds; undefined: none waits. */
  readonly touchedSinceMs: () => Promise<number | undefined>
  readonly nowMs: () => number
}

/** Metrics of alerts. */
export function createAlertMetrics(registry: Registry, reads: AlertReads): AlertMetrics {
  const attempts = new Counter({
    name: 'ipid_alert_attempts_total',
    help: 'Attempts to deliver messages of alerts, by result: delivered, retried (tried again later) or failed (given up)',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of ['delivered', 'retried', 'failed']) attempts.inc({ result }, 0)
  const gauge = gaugesOf(registry)
  const waiting = sharedRead(reads.waiting, QUICK_READ)
  const touchedSinceMs = sharedRead(reads.touchedSinceMs, QUICK_READ)
  const age = (sinceMs: number | undefined) =>
    sinceMs === undefined ? 0 : Math.max(0, reads.nowMs() - sinceMs) / 1_000
  gauge('ipid_alert_waiting_messages', 'Messages of alerts that are not delivered yet', [], async (set) => {
    set({}, (await waiting()).waiting)
  })
  gauge('ipid_alert_oldest_due_seconds', 'Time since the oldest message of an alert was due', [], async (set) => {
    set({}, age((await waiting()).dueSinceMs))
  })
  gauge(
    'ipid_alert_oldest_touched_seconds',
    'Longest wait of a company for the evaluation of alerts',
    [],
    async (set) => {
      set({}, age(await touchedSinceMs()))
    },
  )
  return { attempted: (result) => attempts.inc({ result }) }
}
