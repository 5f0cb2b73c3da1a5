/**
 * Trains the model that votes when the rules find nothing. Decisions that the rules are sure of are the examples,
 * and the labels of `test/support/` that are not held out:
 *
 *     node --import tsx bench/train-model.ts FILE.mmdb
 *
 * FILE names autonomous systems, like GeoLite2-ASN. The script writes `src/enrichment/rules/data/model.tsv`. The result only
 * depends on the file, the labels and the rules.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { AsSizes } from '../src/enrichment/providers/mmdb/as-sizes.ts'
import { readMmdb } from '../src/enrichment/providers/mmdb/provider.ts'
import type { Subject } from '../src/enrichment/rules/model/features.ts'
import { examplesOf } from './model/examples.ts'
import { tuningLabels } from './model/labelled.ts'
import { formatWeights, train } from './model/train.ts'

const OPTIONS = { featureMin: 30, rounds: 3, rate: 0.03, decay: 0.003 }

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('usage: train-model.ts FILE.mmdb')
const labels = tuningLabels()
const examples = (await subjectsIn(path)).flatMap((subject) => examplesOf(subject, labels.get(subject.asn)))
const text = formatWeights(train(examples, OPTIONS))
writeFileSync(new URL('../src/enrichment/rules/data/model.tsv', import.meta.url), text)
process.stdout.write(`${examples.length} examples, ${text.split('\n').length - 2} features, ${text.length} bytes\n`)

/** The autonomous systems of a file, sorted by number. */
async function subjectsIn(file: string): Promise<(Subject & { readonly asn: number })[]> {
  const { mmdb, read, asnOf } = await readMmdb(readFileSync(file), undefined)
  const names = new Map<number, string>()
  mmdb.tree.eachNetwork((_, record) => {
    const { asn, asName } = read(mmdb.decode(record))?.evidence ?? {}
    if (asn !== undefined && asName !== undefined && !names.has(asn)) names.set(asn, asName)
  })
  const sizes = await AsSizes.of(mmdb, asnOf)
  return [...names]
    .sort(([a], [b]) => a - b)
    .map(([asn, name]) => {
      const { addresses, hasV6, scatter } = sizes?.of(asn) ?? {}
      return { name, asn, asAddresses: addresses, asHasV6: hasV6, asScatter: scatter }
    })
}
