/**
 * Measures which words of a name tell an organisation's trade, and writes the precise ones to
 * `src/enrichment/rules/data/categories.txt`:
 *
 *     node --import tsx bench/measure-categories.ts
 *
 * The words are in `bench/categories/candidates.txt`, the organisations in the starter table and
 * `test/support/labelled-categories.csv`. The result only depends on these files and the rules. `--held-out` prints how the
 * words do on the labels that measured nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { categoryOfName } from '../src/enrichment/rules/category.ts'
import { parseSections } from '../src/enrichment/rules/sections.ts'
import { candidatesOf, formatCategories, lowerBound, measureWords } from './categories/measure.ts'
import { knownOrganisations } from './categories/organisations.ts'

const { values } = parseArgs({ options: { 'held-out': { type: 'boolean' } } })
if (values['held-out']) {
  const organisations = knownOrganisations(true)
  const derived = organisations.flatMap(({ names: [name], category }) => {
    const found = categoryOfName(name!)
    return found === undefined ? [] : [{ name, category, found }]
  })
  const wrong = derived.filter(({ category, found }) => found.category.value !== category)
  const right = derived.length - wrong.length
  const bound = lowerBound({ seen: derived.length, right })
  for (const { name, category, found } of wrong)
    process.stdout.write(`wrong: ${name}: ${found.category.word} says ${found.category.value}, is ${category}\n`)
  process.stdout.write(`${organisations.length} organisations, ${derived.length} with a category, ${right} right\n`)
  process.stdout.write(`precision ${(right / derived.length).toFixed(3)}, at least ${bound.toFixed(3)}\n`)
} else {
  const file = new URL('categories/candidates.txt', import.meta.url)
  const candidates = candidatesOf(parseSections(readFileSync(file, 'utf8'), 'candidates.txt'))
  const { measured, hiding } = measureWords(candidates, knownOrganisations(false))
  writeFileSync(
    new URL('../src/enrichment/rules/data/categories.txt', import.meta.url),
    formatCategories(measured, hiding),
  )
  process.stdout.write(`${candidates.length} candidates, ${measured.length} kept, ${hiding.length} hide others\n`)
}
