import { Counter, Gauge, type Registry } from 'prom-client'

/** How asking for one address ended; `refused`: the queue was full, or the address had waited too long in it. */
export type AskResult = 'found' | 'none' | 'failed' | 'refused'

/** What reverse DNS counts. */
export interface ReverseDnsMetrics {
  asked(result: AskResult): void
}

export function reverseDnsMetrics(
  registry: Registry,
  sizes: { readonly waiting: () => number; readonly remembered: () => number },
): ReverseDnsMetrics {
  const registers = [registry]
  const asked = new Counter({
    name: 'ipid_rdns_asked_total',
    help: 'Addresses that reverse DNS was asked for, by result: found, none, failed or refused',
    labelNames: ['result'],
    registers,
  })
  new Gauge({
    name: 'ipid_rdns_waiting',
    help: 'Addresses whose host name is being asked for, or waits to be',
    registers,
    collect() {
      this.set(sizes.waiting())
    },
  })
  new Gauge({
    name: 'ipid_rdns_remembered',
    help: 'Addresses whose host name, or its absence, is remembered',
    registers,
    collect() {
      this.set(sizes.remembered())
    },
  })
  return { asked: (result) => asked.inc({ result }) }
}
