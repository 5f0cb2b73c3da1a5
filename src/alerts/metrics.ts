import { Counter, Gauge, type Registry } from 'prom-client'

interface AlertMetrics {
  /** Counts an attempt to deliver a message. */
  attempted(result: 'delivered' | 'retried' | 'failed'): void
}

interface AlertReads {
  readonly waiting: () => Promise<number>
  /** When the oldest due message was due, milliseconds; undefined: none is late. */
  readonly dueSinceMs: () => Promise<number | undefined>
  /** When the company that waits longest for its evaluation was noted, milliseconds; undefined: none waits. */
  readonly touchedSinceMs: () => Promise<number | undefined>
  readonly nowMs: () => number
}

/** Metrics of alerts. Those that every process reads from Redis are the same everywhere. */
export function createAlertMetrics(registry: Registry, reads: AlertReads): AlertMetrics {
  const attempts = new Counter({
    name: 'ipid_alert_attempts_total',
    help: 'Attempts to deliver messages of alerts, by result: delivered, retried (tried again later) or failed (given up)',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of ['delivered', 'retried', 'failed']) attempts.inc({ result }, 0)
  const gauge = (name: string, help: string, read: () => Promise<number>) => {
    new Gauge({
      ...{ name, help, registers: [registry], aggregator: 'max' },
      async collect() {
        // Without Redis the value is unknown.
        const value = await read().catch(() => undefined)
        if (value === undefined) this.reset()
        else this.set(value)
      },
    })
  }
  const age = (read: () => Promise<number | undefined>) => async () => {
    const sinceMs = await read()
    return sinceMs === undefined ? 0 : Math.max(0, reads.nowMs() - sinceMs) / 1_000
  }
  gauge('ipid_alert_waiting_messages', 'Messages of alerts that are not delivered yet', reads.waiting)
  gauge('ipid_alert_oldest_due_seconds', 'Time since the oldest message of an alert was due', age(reads.dueSinceMs))
  gauge(
    'ipid_alert_oldest_touched_seconds',
    'Time since the company was noted that waits longest for the evaluation of alerts',
    age(reads.touchedSinceMs),
  )
  return { attempted: (result) => attempts.inc({ result }) }
}
