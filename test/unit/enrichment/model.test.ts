import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { examplesOf } from '../../../bench/model/examples.ts'
import { formatWeights, train } from '../../../bench/model/train.ts'
import { withoutDeciding } from '../../../src/enrichment/rules/model/deciding.ts'
import { featuresOf } from '../../../src/enrichment/rules/model/features.ts'
import { overrule, parseWeights, readWeights, sharesOf } from '../../../src/enrichment/rules/model/vote.ts'

const OPTIONS = { featureMin: 2, rounds: 5, rate: 0.1, decay: 0.001 }
const subject = (name: string, asn: number, asAddresses: number, asHasV6 = false) => ({
  name,
  asn,
  asAddresses,
  asHasV6,
})

test('features are words, parts of words, their number, the block of the AS number and its size', () => {
  const features = featuresOf(subject('Kibo Net Ltda', 262_144, 1024, true))
  for (const feature of ['w:kibo', 'p:_kib', 'p:kibo_', 'e:ltda', 'n:2', 'b:256', 's:10', 'v:yes', 's:10 v:yes']) {
    assert.ok(features.has(feature), feature)
  }
  assert.deepEqual([...featuresOf(subject('', 1, 0))], ['n:0', 'c:other', 'b:0', 's:none', 'v:no', 's:none v:no'])
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

test('the same examples give the same weights, which separate them and survive the file', () => {
  const examples = [
    ...['Kibo Telecom Ltda', 'Alfa Telecom Ltda', 'Beta Fibra Ltda'].map((name) => subject(name, 270_000, 1024)),
    ...['Kibo Bank Inc', 'Alfa Insurance Inc', 'Beta Hospital Inc'].map((name) => subject(name, 5_000, 256)),
  ].flatMap(examplesOf)
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
  const provider = { name: 'CABLE VIDEO PERU SAC', asn: 266_716, asAddresses: 1024, asHasV6: true }
  assert.equal(overrule(provider, video)?.classification, 'isp')
  assert.equal(overrule({ ...provider, asAddresses: undefined }, video), undefined)
  assert.equal(overrule(provider, { ...video, weight: 5 }), undefined)
  assert.equal(overrule(provider, { ...video, classification: 'government' }), undefined)
  const network = { classification: 'isp', weight: 2 } as const
  const district = { name: 'Lubbock Emergency Communication District', asn: 394_029, asAddresses: 256, asHasV6: false }
  assert.deepEqual(overrule(district, network)?.classification, undefined)
  assert.ok(overrule(district, network)!.noise < 0.12)
})
