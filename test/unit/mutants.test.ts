import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MUTANTS } from '../mutants/list/all.ts'
import { broken } from '../mutants/mutant.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

test('every mutant still applies to the sources, and names existing tests', () => {
  const problems = MUTANTS.flatMap((mutant) => {
    try {
      broken(mutant, read(mutant.file))
      for (const [file, ...titles] of mutant.noticedBy) {
        const lost = titles.find((title) => !read(file).includes(title))
        if (lost !== undefined) throw new Error(`${mutant.name}: ${file} has no test "${lost}"`)
      }
      return []
    } catch (error) {
      return [`${mutant.name}: ${(error as Error).message}`]
    }
  })
  assert.deepEqual(problems, [])
})

test('every invariant of src/README.md has a mutant', () => {
  const section =
    read('src/README.md')
      .split(/^## (?:Invariants|What must always be true)$/m)[1]
      ?.split('\n## ')[0] ?? ''
  const invariants = [...section.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number))
  assert.ok(invariants.length > 0, 'src/README.md has a list of invariants')
  assert.deepEqual([...new Set(MUTANTS.map(({ invariant }) => invariant))], invariants)
})
