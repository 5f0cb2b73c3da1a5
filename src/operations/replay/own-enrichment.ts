import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Config } from '../../config/config.ts'
import { EnrichmentEngine } from '../../enrichment/engine.ts'
import { ReverseDns } from '../../enrichment/providers/rdns/reverse-dns.ts'
import type { DataFolders } from '../../enrichment/todays-data.ts'
import { systemClock } from '../../run/clock.ts'

/** Enrichment like that of the roles. */
export interface Enriching {
  readonly engine: EnrichmentEngine
  /** Undefined: no reverse DNS. */
  readonly hostnames: ReverseDns | undefined
}

type ReverseDnsSettings = Pick<Config, 'rdns' | 'rdnsServers' | 'rdnsDeadlineMs' | 'rdnsConcurrency'>

/** Runs an engine of its own, with data that are loaded for `use`. */
export async function withOwnEnrichment<T>(
  { rdns, rdnsServers, rdnsDeadlineMs, rdnsConcurrency }: ReverseDnsSettings,
  data: DataFolders,
  use: (enriching: Enriching) => Promise<T>,
): Promise<T> {
  const metrics = new Registry()
  const log = pino({ level: 'silent' })
  const limits = { deadlineMs: rdnsDeadlineMs, concurrencyMax: rdnsConcurrency }
  const hostnames =
    rdns === 'on' ? new ReverseDns({ servers: rdnsServers, clock: systemClock, metrics, log, limits }) : undefined
  const engine = new EnrichmentEngine({ ...data, hostnames, log, metrics })
  await hostnames?.start()
  await engine.start()
  try {
    return await use({ engine, hostnames })
  } finally {
    await engine.stop()
    await hostnames?.stop()
  }
}
