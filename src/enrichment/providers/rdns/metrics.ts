import { Counter, Gauge, type Registry } from 'prom-client'

/**
 * Outcomes of a query for one address. `refused`: the queue was full, or the address waited too long in it. `silent`: it
 * was not sent, because name servers do not answer.
 */
const ASK_RESULTS = ['found', 'none', 'failed', 'refused', 'silent'] as const
type AskResult = (typeof ASK_RESULTS)[number]

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
    help: 'Queries to reverse DNS by address and result: found, none, failed, refused or silent',
    labelNames: ['result'],
    registers,
  })
  for (const result of ASK_RESULTS) asked.inc({ result }, 0)
  new Gauge({
    name: 'ipid_rdns_waiting',
    help: 'Addresses with a running or waiting query for their host name',
    registers,
    collect() {
      this.set(state.waiting())
    },
  })
  new Gauge({
    name: 'ipid_rdns_remembered',
    help: 'Addresses with a cached host name, or a cached negative answer',
    registers,
    collect() {
      this.set(state.remembered())
    },
  })
  new Gauge({
    name: 'ipid_rdns_silent',
    help: 'Whether name servers do not answer, so that queries pause for seconds at a time: 1 or 0',
    registers,
    collect() {
      this.set(state.silent() ? 1 : 0)
    },
  })
  return { asked: (result) => asked.inc({ result }) }
}
