import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { candidatesOf, measureWords, PRECISION_MIN } from '../../../bench/categories/measure.ts'
import { knownOrganisations } from '../../../bench/categories/organisations.ts'
import { categoryOfName } from '../../../src/enrichment/rules/category.ts'
import { classify } from '../../../src/enrichment/rules/classify.ts'
import { parseSections, readSections } from '../../../src/enrichment/rules/sections.ts'

const RUN = 'run `node --import tsx bench/measure-categories.ts`'

const STATED = new Map(
  readSections('categories.txt')
    .filter(({ heading }) => heading[0] !== '-')
    .flatMap(({ heading, entries }) => {
      const precision = Number(/ ([\d.]+);/.exec(heading.join(' '))![1])
      return entries.map((entry) => [entry, precision] as const)
    }),
)

test('every word for a category has the precision that the script measures, at least 0.93', () => {
  const file = new URL('../../../bench/categories/candidates.txt', import.meta.url)
  const candidates = candidatesOf(parseSections(readFileSync(file, 'utf8'), 'candidates.txt'))
  assert.ok(candidates.length >= 600)
  const { measured } = measureWords(candidates, knownOrganisations(false))
  const fresh = new Map(measured.map(({ candidate, precision }) => [candidate.entry, precision]))
  const wrong = [...STATED].filter(
    ([word, stated]) => stated < PRECISION_MIN || Math.abs(stated - (fresh.get(word) ?? 0)) > 0.03,
  )
  // A label or a rule that changes moves a few.
  assert.ok(wrong.length <= STATED.size / 50, `${RUN}: ${JSON.stringify(wrong.slice(0, 5))}`)
})

test('derived categories are right for labels that no word was measured on', (t) => {
  const derived = knownOrganisations(true).flatMap(({ names, category }) => {
    const found = categoryOfName(names[0]!)
    return found === undefined ? [] : [found.category.value === category]
  })
  const right = derived.filter(Boolean).length
  t.diagnostic(`${right} of ${derived.length} right`)
  assert.ok(derived.length >= 30)
  assert.ok(right / derived.length >= 0.85)
})

for (const [name, category, industry] of [
  ['Northfield University', 'Education', 'Higher Education'],
  ['Universidad Autónoma de Ejemplo', 'Education', 'Higher Education'],
  ['Fachhochschule Musterstadt', 'Education', undefined],
  ['Московский университет примеров', 'Education', 'Higher Education'],
  ['例示大学', 'Education', 'Higher Education'],
  ['Springdale Unified School District', 'Education', 'Schools'],
  ['First Example Bank, N.A.', 'Finance', 'Banking'],
  ['PT Bank Contoh Tbk', 'Finance', 'Banking'],
  ['Sparkasse Musterland', 'Finance', 'Banking'],
  ['City of Exampleton', 'Government', 'Local Government'],
  ['Gemeente Voorbeeld', 'Government', 'Local Government'],
  ['Szpital Kliniczny im. Przykladu', 'Healthcare', undefined],
  ['Flughafen Beispiel GmbH', 'Transport', 'Airports'],
] as const) {
  test(`${name}: ${category}`, () => {
    const found = categoryOfName(name)
    assert.equal(found?.category.value, category)
    assert.ok(found.category.precision >= PRECISION_MIN)
    if (industry !== undefined) assert.equal(found.industry?.value, industry)
  })
}

test('the longest phrase and the heaviest word decide', () => {
  assert.equal(categoryOfName('Example University Hospital')?.category.value, 'Healthcare')
  assert.equal(categoryOfName('Example University Federal Credit Union')?.category.value, 'Finance')
  assert.equal(categoryOfName('Ministry of Education of Examplia')?.category.value, 'Government')
  assert.equal(categoryOfName('The School District of the City of Exampleton')?.category.value, 'Education')
})

for (const name of ['Example Food Databank', 'West Bank Trading', 'Example', 'Qorvex GmbH', 'Railway Telecom Ltd']) {
  test(`${name}: no category`, () => {
    assert.equal(categoryOfName(name), undefined)
  })
}

test('no name has the category of a public body and the class of a business', () => {
  const names = [true, false].flatMap((heldOut) => knownOrganisations(heldOut).flatMap(({ names }) => names))
  const wrong = names.filter((name) => {
    const category = categoryOfName(name)?.category.value
    const { classification, rule } = classify({ asName: name })
    // A known name tells more than a word in it.
    return category === 'Government' && classification === 'business' && !rule.startsWith('known-name:')
  })
  assert.ok(names.length > 5_000)
  assert.deepEqual(wrong, [])
})
