import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { examplesOf } from '../../../bench/model/examples.ts'
import { tuningLabels } from '../../../bench/model/labelled.ts'
import { formatWeights, train } from '../../../bench/model/train.ts'
import { featuresOf } from '../../../src/enrichment/rules/model/features.ts'
import { packScatter } from '../../../src/enrichment/rules/model/scatter.ts'
import {
  overrule,
  parseWeights,
  readWeights,
  sharesOf,
  withoutDeciding,
} from '../../../src/enrichment/rules/model/vote.ts'

const OPTIONS = { featureMin: 2, rounds: 5, rate: 0.1, decay: 0.001 }
const subject = (name: string, asn: number, asAddresses: number, asHasV6 = false, asScatter?: number) => ({
  name,
  asn,
  asAddresses,
  asHasV6,
  asScatter,
})

test('features are words, parts of words, their number, the block of the AS number and its size', () => {
  const features = featuresOf(subject('Kibo Net Ltda', 262_144, 1024, true))
  const of = [
    'w:kibo',
    'p:_kib',
    'p:kibo_',
    'e:ltda',
    'n:2',
    'b:256',
    'g:16',
    'g:16 o:0',
    'e:ltda g:16',
    'g:16 s:10',
    'e:ltda s:10',
  ]
  for (const feature of [...of, 's:10', 'v:yes', 's:10 v:yes']) {
    assert.ok(features.has(feature), feature)
  }
  assert.deepEqual(
    [...featuresOf(subject('', 1, 0))],
    ['n:0', 'c:other', 'b:0', 'g:0', 'g:0 o:0', 'g:0 s:none', 's:none', 'v:no', 's:none v:no'],
  )
})

test('the scatter of the address space adds features: blocks, /8 and /16 as powers of two, and the first byte', () => {
  const scatter = packScatter({ blocks: 5, slash8s: 2, slash16s: 3, slash8: 193 })
  assert.equal(scatter, 193_212)
  const features = featuresOf(subject('Kibo', 1, 2048, true, scatter))
  for (const feature of ['r:2', '8:1', '16:2', 'o:193', '8:1 s:11', 'r:2 s:11', '8:1 v:yes']) {
    assert.ok(features.has(feature), feature)
  }
  const most = { blocks: 5_000, slash8s: 200, slash16s: 5_000, slash8: 1 }
  assert.equal(packScatter(most), 1_868)
  assert.equal(packScatter({ blocks: 0, slash8s: 0, slash16s: 0, slash8: 0 }), 0)
  assert.deepEqual(featuresOf(subject('Kibo', 1, 0, true, 0)), featuresOf(subject('Kibo', 1, 0, true)))
})

test('scattered space makes a name without a rule more likely a provider, and one old block less', () => {
  const noise = (scatter: number) => {
    const { isp, hosting } = sharesOf(subject('Qorvex', 40_000, 2048, true, scatter))
    return isp + hosting
  }
  const scattered = noise(packScatter({ blocks: 8, slash8s: 6, slash16s: 8, slash8: 185 }))
  const block = noise(packScatter({ blocks: 1, slash8s: 1, slash16s: 1, slash8: 143 }))
  assert.ok(scattered > block + 0.1, `${scattered}, ${block}`)
})

test('the model learns from examples that the rules are sure of, without the deciding words', () => {
  assert.deepEqual(withoutDeciding(['kibo', 'superfibernet', 'cable', 'tv', 'ltda']), ['kibo', 'superfiber', 'ltda'])
  const [sized, byName] = examplesOf(subject('Kibo Telecom Ltda', 270_000, 1024))
  assert.equal(sized!.truth, 'isp')
  assert.ok(sized!.features.has('s:10') && !byName!.features.has('s:10'))
  assert.ok(![...sized!.features].some((feature) => feature.includes('telecom')))
  assert.equal(examplesOf(subject('Kibo Bank', 5, 256))[0]!.truth, 'organisation')
  assert.deepEqual(examplesOf(subject('Qorvex', 5, 256)), [])
})

test('a label outweighs the rules, and makes an example of a name that they do not know', () => {
  const label = { classification: 'hosting', sure: false } as const
  for (const name of ['Qorvex', 'Kibo Bank'])
    assert.equal(examplesOf(subject(name, 5, 256), label)[0]!.truth, 'hosting')
  const weightOf = (sure: boolean) => examplesOf(subject('Qorvex', 5, 256), { ...label, sure })[0]!.weight
  assert.ok(weightOf(true) > weightOf(false) && weightOf(false) > 1)
})

test('no label that is held out trains the model', () => {
  const labels = tuningLabels()
  assert.ok(labels.size > 1_500)
  for (const file of ['labelled-networks.csv', 'labelled-visitors.csv', 'labelled-silent-names.csv']) {
    const text = readFileSync(new URL(`../../support/${file}`, import.meta.url), 'utf8')
    const rows = parse(text, { columns: true }) as Record<string, string>[]
    const leaked = rows.filter(({ asn, held_out }) => held_out === 'yes' && labels.has(Number(asn)))
    assert.deepEqual(leaked, [], file)
  }
})

test('the same examples give the same weights, which separate them and survive the file', () => {
  const examples = [
    ...['Kibo Telecom Ltda', 'Alfa Telecom Ltda', 'Beta Fibra Ltda'].map((name) => subject(name, 270_000, 1024)),
    ...['Kibo Bank Inc', 'Alfa Insurance Inc', 'Beta Hospital Inc'].map((name) => subject(name, 5_000, 256)),
  ].flatMap((given) => examplesOf(given))
  const text = formatWeights(train(examples, OPTIONS))
  assert.equal(formatWeights(train(examples, OPTIONS)), text)
  const weights = parseWeights(text)
  assert.ok(weights.get('e:ltda')!.isp > 0 && weights.get('e:inc')!.isp < 0)
  assert.throws(() => parseWeights('feature\tisp\thosting\nw:x\t1\n'), /model\.tsv:2: "w:x\t1" is not a weight/)
})

test('the shipped weights can be reviewed: small, sorted, and only features of several names', () => {
  const path = new URL('../../../src/enrichment/rules/data/model.tsv', import.meta.url)
  assert.ok(readFileSync(path).length < 300_000)
  const features = [...readWeights().keys()]
  assert.ok(features.length > 1_000)
  assert.deepEqual(features, features.toSorted())
  const { isp, hosting } = sharesOf(subject('Kibo Hosted Nodes', 210_000, 256))
  assert.ok(isp > 0 && hosting > 0 && isp + hosting < 1)
})

test('the model overrules a single weak word when it is sure, and the AS is known', () => {
  const video = { classification: 'business', weight: 4 } as const
  const provider = subject('CABLE VIDEO PERU SAC', 266_716, 1024, true)
  assert.equal(overrule(provider, video)?.classification, 'isp')
  assert.equal(overrule({ ...provider, asAddresses: undefined }, video), undefined)
  assert.equal(overrule(provider, { ...video, weight: 6 }), undefined)
  assert.equal(overrule(provider, { ...video, classification: 'government' }), undefined)
  const network = { classification: 'isp', weight: 2 } as const
  const district = subject('Lubbock Emergency Communication District', 394_029, 256)
  assert.deepEqual(overrule(district, network)?.classification, undefined)
  assert.ok(overrule(district, network)!.noise < 0.4)
  assert.equal(overrule(district, { ...network, weight: 4 }), undefined)
})
