/**
 * Trains the model that votes where the rules are silent, on what the rules themselves are sure of:
 *
 *     node --import tsx bench/train-model.ts FILE.mmdb
 *
 * FILE names autonomous systems, as GeoLite2-ASN does. It writes `src/enrichment/rules/data/model.tsv`, the same for the
 * same file and rules.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { AsSizes } from '../src/enrichment/providers/mmdb/as-sizes.ts'
import { readMmdb } from '../src/enrichment/providers/mmdb/provider.ts'
import type { Subject } from '../src/enrichment/rules/model/features.ts'
import { examplesOf } from './model/examples.ts'
import { formatWeights, train } from './model/train.ts'

const OPTIONS = { featureMin: 30, rounds: 3, rate: 0.03, decay: 0.003 }

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('which file names the autonomous systems?')
const examples = (await subjectsIn(path)).flatMap(examplesOf)
const text = formatWeights(train(examples, OPTIONS))
writeFileSync(new URL('../src/enrichment/rules/data/model.tsv', import.meta.url), text)
process.stdout.write(`${examples.length} examples, ${text.split('\n').length - 2} features, ${text.length} bytes\n`)

/** The autonomous systems of a file in the order of their numbers. */
async function subjectsIn(file: string): Promise<Subject[]> {
  const { mmdb, read, asnOf } = await readMmdb(readFileSync(file), undefined)
  const names = new Map<number, string>()
  mmdb.tree.eachNetwork((_, record) => {
    const { asn, asName } = read(mmdb.decode(record))?.evidence ?? {}
    if (asn !== undefined && asName !== undefined && !names.has(asn)) names.set(asn, asName)
  })
  const sizes = await AsSizes.of(mmdb, asnOf)
  return [...names]
    .sort(([a], [b]) => a - b)
    .map(([asn, name]) => ({ name, asn, asAddresses: sizes?.of(asn)?.addresses, asHasV6: sizes?.of(asn)?.hasV6 }))
}
