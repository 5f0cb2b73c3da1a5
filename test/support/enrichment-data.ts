import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { type AddressRange, parseCidr } from '../../src/enrichment/addresses/network.ts'
import { EnrichmentEngine, type EnrichmentOptions } from '../../src/enrichment/engine.ts'
import type { MmdbValue } from '../../src/enrichment/providers/mmdb/encode.ts'
import { MmdbWriter, type MmdbWriterOptions } from '../../src/enrichment/providers/mmdb/writer.ts'
import { type Address, parseAddress } from '../../src/pipeline/event/address.ts'

export const silent = pino({ level: 'silent' })

export function address(text: string): Address {
  const parsed = parseAddress(text)
  if (parsed === undefined) throw new Error(`not an address: ${text}`)
  return parsed
}

export function range(text: string): AddressRange {
  const parsed = parseCidr(text)
  if (typeof parsed === 'string') throw new Error(parsed)
  return parsed
}

/** An MMDB with the given records by network. */
export function mmdb(
  databaseType: string,
  records: Readonly<Record<string, MmdbValue>>,
  options: Partial<MmdbWriterOptions> = {},
): Buffer {
  const writer = new MmdbWriter({ databaseType, buildEpoch: 1_760_000_000, ...options })
  for (const [network, record] of Object.entries(records)) writer.insert(range(network), record)
  return writer.toBuffer()
}

/** A GeoLite2-ASN database. */
export function asnMmdb(systems: Readonly<Record<string, readonly [asn: number, name: string]>>): Buffer {
  return mmdb(
    'GeoLite2-ASN',
    Object.fromEntries(
      Object.entries(systems).map(([network, [asn, name]]) => [
        network,
        { autonomous_system_number: asn, autonomous_system_organization: name },
      ]),
    ),
  )
}

/** A folder that is removed after the test. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-enrichment-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** A started engine over a folder, stopped after the test. It checks the folder every few milliseconds. */
export async function startEngine(
  t: TestContext,
  dir: string | undefined,
  options: Partial<EnrichmentOptions> = {},
): Promise<EnrichmentEngine> {
  const engine = new EnrichmentEngine({
    dir,
    log: silent,
    metrics: new Registry(),
    pollIntervalMs: 5,
    ...options,
  })
  t.after(() => engine.stop())
  await engine.start()
  return engine
}
