import { InputError } from '../../../core/run/errors.ts'
import type { AddressRange } from '../../addresses/network.ts'
import { AS_RANGES_TYPE, sizeMembers } from '../../providers/mmdb/as-sizes.ts'
import { MmdbWriter } from '../../providers/mmdb/writer.ts'
import { eachAsRange } from './as-range-rows.ts'
import { RangeFileWriter } from './range-file-writer.ts'

/** What is said of an AS. */
type AsRecord = Readonly<Record<string, string | number | boolean | undefined>>

/** What takes ranges and their records. @typeParam Stored a record that it stored */
interface Target<Stored> {
  /** @param record is asked for when all ranges are known */
  store(record: () => AsRecord): Stored
  insert(range: AddressRange, record: Stored): void
}

/**
 * Compiles ranges of autonomous systems into an MMDB with the members of GeoLite2-ASN, and the size of each system, so
 * that loading it need not count. Two forms are known: CSV with first address, last address, number and name, and the
 * tabs of iptoasn.com, with a country before the name.
 * @throws InputError with the line and the reason
 */
export async function compileAsRanges(texts: readonly Buffer[], builtAtMs: number, source: string): Promise<Buffer> {
  const writer = new MmdbWriter({
    databaseType: AS_RANGES_TYPE,
    description: { en: `Autonomous systems by network, of ${source}` },
    buildEpoch: Math.floor(builtAtMs / 1_000),
  })
  await writeRanges(texts, {
    store: (record) => writer.storeLater(record),
    insert: (range, record) => writer.insertStored(range, record),
  })
  return writer.toBuffer()
}

/** As `compileAsRanges`, into a range file with the same records, in a tenth of the time. */
export async function asRangeFile(texts: readonly Buffer[], builtAtMs: number, source: string): Promise<Buffer> {
  const writer = new RangeFileWriter()
  await writeRanges(texts, writer)
  return writer.toBuffer({ source, databaseType: AS_RANGES_TYPE, builtAtMs })
}

async function writeRanges<Stored>(texts: readonly Buffer[], target: Target<Stored>): Promise<void> {
  const systems = new Map<number, System<Stored>>()
  for (const text of texts) {
    await eachAsRange(text, (range, asn, name) => {
      const system = systems.get(asn) ?? addSystem(asn, systems)
      if (range.version === 4) system.addresses += range.last - range.first + 1
      else system.hasV6 = true
      if (system.last?.name !== name)
        system.last = { name, record: system.records.get(name) ?? addRecord(asn, name, system, target) }
      target.insert(range, system.last.record)
    })
  }
  if (systems.size === 0) throw new InputError('it holds no ranges')
}

/** An autonomous system while its ranges are read. */
interface System<Stored> {
  addresses: number
  hasV6: boolean
  /** By the names that the ranges give it; most have one. */
  readonly records: Map<string, Stored>
  /** Comparing names is faster than looking them up. */
  last: { readonly name: string; readonly record: Stored } | undefined
}

function addSystem<Stored>(asn: number, systems: Map<number, System<Stored>>): System<Stored> {
  const system: System<Stored> = { addresses: 0, hasV6: false, records: new Map(), last: undefined }
  systems.set(asn, system)
  return system
}

function addRecord<Stored>(asn: number, name: string, system: System<Stored>, target: Target<Stored>): Stored {
  const record = target.store(() => ({
    autonomous_system_number: asn,
    autonomous_system_organization: name === '' ? undefined : name,
    ...sizeMembers(system),
  }))
  system.records.set(name, record)
  return record
}
