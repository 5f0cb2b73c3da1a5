import { Counter, Gauge, type Registry } from 'prom-client'

/**
 * How asking for one address ended; `refused`: the queue was full, or the address had waited too long in it; `silent`:
 * it was not asked for, since name servers do not answer.
 */
const ASK_RESULTS = ['found', 'none', 'failed', 'refused', 'silent'] as const
export type AskResult = (typeof ASK_RESULTS)[number]

/** What reverse DNS counts. */
export interface ReverseDnsMetrics {
  asked(result: AskResult): void
}

export function reverseDnsMetrics(
  registry: Registry,
  state: { readonly waiting: () => number; readonly remembered: () => number; readonly silent: () => boolean },
): ReverseDnsMetrics {
  const registers = [registry]
  const asked = new Counter({
    name: 'ipid_rdns_asked_total',
    help: 'Addresses that reverse DNS was asked for, by result: found, none, failed, refused or silent',
    labelNames: ['result'],
    registers,
  })
  for (const result of ASK_RESULTS) asked.inc({ result }, 0)
  new Gauge({
    name: 'ipid_rdns_waiting',
    help: 'Addresses whose host name is being asked for, or waits to be',
    registers,
    collect() {
      this.set(state.waiting())
    },
  })
  new Gauge({
    name: 'ipid_rdns_remembered',
    help: 'Addresses whose host name, or its absence, is remembered',
    registers,
    collect() {
      this.set(state.remembered())
    },
  })
  new Gauge({
    name: 'ipid_rdns_silent',
    help: 'Whether name servers do not answer and are left alone for seconds at a time: 1 or 0',
    registers,
    collect() {
      this.set(state.silent() ? 1 : 0)
    },
  })
  return { asked: (result) => asked.inc({ result }) }
}
