import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { MUTANTS } from '../../mutants/list/all.ts'
import { broken } from '../../mutants/mutant.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

test('every mutant has a name of its own, and can still be made of the sources', () => {
  const names = MUTANTS.map(({ name }) => name)
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)),
    [],
  )
  const problems = MUTANTS.flatMap((mutant) => {
    try {
      const text = broken(mutant, read(mutant.file))
      if (mutant.file.endsWith('.ts')) transformSync(text, { loader: 'ts' })
      return []
    } catch (error) {
      return [`${mutant.name}: ${(error as Error).message}`]
    }
  })
  assert.deepEqual(problems, [])
})

test('every mutant names tests that are there', () => {
  const problems = MUTANTS.flatMap(({ name, noticedBy }) =>
    noticedBy.flatMap(([file, ...titles]) => {
      if (!existsSync(join(ROOT, file))) return [`${name}: there is no ${file}`]
      const text = read(file)
      return titles.filter((title) => !text.includes(title)).map((title) => `${name}: ${file} has no test "${title}"`)
    }),
  )
  assert.deepEqual(problems, [])
})
