import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { merge } from '../../src/enrichment/answers/merge.ts'
import { Snapshot } from '../../src/enrichment/answers/snapshot.ts'
import type { Facts } from '../../src/enrichment/facts.ts'
import { asRangeFile } from '../../src/enrichment/files/build/as-ranges.ts'
import { withDecisions } from '../../src/enrichment/files/build/decide-ranges.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../src/enrichment/limits.ts'
import type { Provider } from '../../src/enrichment/providers/provider.ts'
import { loadRangeFile } from '../../src/enrichment/providers/ranges/provider.ts'
import { decide } from '../../src/enrichment/rules/decided.ts'
import { address } from './enrichment-data.ts'

const PACKAGE = '@ip-location-db/asn/package.json'
const plain = ({ id: _, decided: __, ...facts }: Facts) => facts

export const loadRanges = (bytes: Buffer) => loadRangeFile({ name: 'as', bytes, recordsBytesMax: 1_000_000 })

export function snapshotOf(...providers: readonly Provider[]): Snapshot {
  return new Snapshot(providers, DEFAULT_ENRICHMENT_LIMITS, (_, error) => assert.fail(String(error)))
}

/** Asserts that the decisions made with the data equal those made for an address. @param step one of so many AS of the default data */
export async function assertDecisionsEqual(step: number): Promise<void> {
  const seen = new Set<string>()
  const text = readFileSync(join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), 'asn-ipv4.csv'), 'utf8')
  const lines = text.split('\n').filter((line) => {
    const asn = line.split(',', 3)[2]
    return asn !== undefined && Number(asn) % step === 0 && !seen.has(asn) && seen.add(asn)
  })
  const bytes = await asRangeFile([Buffer.from(lines.join('\n'))], 0, 'test 1')
  const [fresh, decided] = [await loadRanges(bytes), await loadRanges(await withDecisions(bytes))]
  const [freshly, before] = [snapshotOf(fresh), snapshotOf(decided)]
  let made = 0
  for (const line of lines) {
    const ip = line.split(',', 1)[0]!
    const at = address(ip)
    const [a, b] = [fresh.find(at)!, decided.find(at)!]
    assert.deepEqual(plain(b), plain(a), ip)
    if (b.decided !== undefined) {
      made++
      assert.deepEqual(b.decided, decide(a.evidence), ip)
    }
    const finding = { provider: fresh, scope: 'address' } as const
    assert.deepEqual(merge([{ ...finding, facts: b }]), merge([{ ...finding, facts: a }]), ip)
    assert.deepEqual(before.lookup(at, {}), freshly.lookup(at, {}), ip)
    assert.deepEqual(before.resolve(at), freshly.resolve(at), ip)
  }
  assert.ok(lines.length > 80_000 / step && made > 0.99 * lines.length, `${made} of ${lines.length}`)
}
