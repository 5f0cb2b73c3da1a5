/**
 * Trains the model that votes when the rules find nothing. Decisions that the rules are sure of are the examples,
 * and the labels of `test/support/` that are not held out:
 *
 *     node --import tsx bench/train-model.ts
 *
 * It reads the autonomous systems of the default data, and writes `src/enrichment/rules/data/model.tsv`. The result only depends on
 * their package, the labels and the rules.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { asRangeFile } from '../src/enrichment/files/build/as-ranges.ts'
import { DEFAULT_SETS } from '../src/enrichment/files/defaults/sets.ts'
import { openRangeFile } from '../src/enrichment/providers/ranges/range-file.ts'
import type { Subject } from '../src/enrichment/rules/model/features.ts'
import { examplesOf } from './model/examples.ts'
import { tuningLabels } from './model/labelled.ts'
import { formatWeights, train } from './model/train.ts'

const OPTIONS = { featureMin: 30, rounds: 3, rate: 0.03, decay: 0.003 }

const labels = tuningLabels()
const examples = (await subjects()).flatMap((subject) => examplesOf(subject, labels.get(subject.asn)))
const text = formatWeights(train(examples, OPTIONS))
writeFileSync(new URL('../src/enrichment/rules/data/model.tsv', import.meta.url), text)
process.stdout.write(`${examples.length} examples, ${text.split('\n').length - 2} features, ${text.length} bytes\n`)

/** The autonomous systems of the default data, sorted by number. */
async function subjects(): Promise<(Subject & { readonly asn: number })[]> {
  const { package: name, files } = DEFAULT_SETS.find(({ kind }) => kind === 'asn')!
  const { resolve } = createRequire(import.meta.url)
  const file = openRangeFile(
    await asRangeFile(
      files.map((path) => readFileSync(resolve(`${name}/${path}`))),
      0,
      name,
    ),
  )
  const systems = new Map<number, Subject & { readonly asn: number }>()
  for (let record = 0; record < file.records; record++) {
    const [asn, asName, addresses, hasV6, scatter] = file.values(record) as [number, string, number, number, number]
    if (systems.has(asn)) continue
    systems.set(asn, { name: asName, asn, asAddresses: addresses, asHasV6: hasV6 === 1, asScatter: scatter })
  }
  return [...systems.values()].sort((a, b) => a.asn - b.asn)
}
