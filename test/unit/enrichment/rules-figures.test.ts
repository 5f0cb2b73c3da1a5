import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { type Classification, NOISE } from '../../../schemas/classification.ts'
import { readAsNumbers } from '../../../src/enrichment/rules/as-numbers.ts'
import { classify } from '../../../src/enrichment/rules/classify.ts'
import { readWords } from '../../../src/enrichment/rules/score-name.ts'

interface Labelled {
  readonly asn: number | undefined
  readonly name: string
  readonly truth: Classification
  /** Was not looked at while the rules were written. */
  readonly heldOut: boolean
}

interface Figures {
  readonly businessFiltered: number
  readonly noiseCaught: number
  readonly perClass: ReadonlyMap<string, { precision: number; recall: number; count: number }>
}

const CLASSES: readonly Classification[] = ['business', 'education', 'government', 'isp', 'hosting', 'cloud', 'cdn']
const labelled = readLabelled()

test('the labelled set is large, balanced, and not named in the rules by AS number', () => {
  assert.ok(labelled.length >= 450)
  for (const truth of CLASSES) assert.ok(labelled.filter((row) => row.truth === truth).length >= 20, truth)
  const numbers = readAsNumbers()
  const named = labelled.filter(({ asn }) => asn !== undefined && numbers.has(asn))
  assert.deepEqual(named, [])
  assert.equal(new Set(labelled.map((row) => row.name)).size, labelled.length)
})

test('figures by name alone hold on the tuning part and on the held-out part', (t) => {
  for (const heldOut of [false, true]) {
    const figures = measure(labelled.filter((row) => row.heldOut === heldOut))
    report(t, heldOut ? 'held out' : 'tuning', figures)
    assert.ok(figures.businessFiltered < 0.03)
    assert.ok(figures.noiseCaught >= 0.85)
    for (const [name, { precision, recall }] of figures.perClass) {
      assert.ok(precision >= (heldOut ? 0.8 : 0.95), `precision of ${name}`)
      assert.ok(recall >= (heldOut ? 0.75 : 0.95), `recall of ${name}`)
    }
  }
})

test('words alone, without the known names, still tell most of them apart', (t) => {
  const figures = measure(labelled, (name) => readWords(name, 'as')?.classification ?? 'business')
  report(t, 'words alone', figures)
  // The set has many businesses that only their names keep apart, such as the makers of network equipment.
  assert.ok(figures.businessFiltered < 0.06)
  assert.ok(figures.noiseCaught >= 0.7)
})

function readLabelled(): Labelled[] {
  const text = readFileSync(new URL('../../support/labelled-organisations.csv', import.meta.url), 'utf8')
  const rows = parse(text, { columns: true }) as Record<string, string>[]
  return rows.map((row) => ({
    asn: row.asn ? Number(row.asn) : undefined,
    name: row.as_name!,
    truth: row.classification as Classification,
    heldOut: row.held_out === 'yes',
  }))
}

function byRules(name: string): Classification | undefined {
  return classify({ asName: name }).classification
}

function measure(rows: readonly Labelled[], decide = byRules): Figures {
  const decided = rows.map((row) => ({ truth: row.truth, got: decide(row.name) }))
  const share = (part: typeof decided, holds: (row: (typeof decided)[number]) => boolean) =>
    part.length === 0 ? 1 : part.filter(holds).length / part.length
  const isFiltered = ({ got }: (typeof decided)[number]) => got !== undefined && NOISE.has(got)
  return {
    businessFiltered: share(
      decided.filter(({ truth }) => truth === 'business'),
      isFiltered,
    ),
    noiseCaught: share(
      decided.filter(({ truth }) => NOISE.has(truth)),
      isFiltered,
    ),
    perClass: new Map(
      CLASSES.map((name) => {
        const precision = share(
          decided.filter(({ got }) => got === name),
          ({ truth }) => truth === name,
        )
        const ofClass = decided.filter(({ truth }) => truth === name)
        return [name, { precision, recall: share(ofClass, ({ got }) => got === name), count: ofClass.length }]
      }),
    ),
  }
}

function report(t: { diagnostic(message: string): void }, part: string, figures: Figures): void {
  const percent = (value: number) => `${(100 * value).toFixed(1)} %`
  t.diagnostic(
    `${part}: businesses filtered ${percent(figures.businessFiltered)}, noise caught ${percent(figures.noiseCaught)}`,
  )
  for (const [name, { precision, recall, count }] of figures.perClass) {
    t.diagnostic(`${part}: ${name} (${count}) precision ${percent(precision)}, recall ${percent(recall)}`)
  }
}
