import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Releases } from '../../../bench/run/releases.ts'
import type { Mutant } from '../../mutants/mutant.ts'
import { judge, runBaseline } from '../../mutants/run.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const SOURCE = `export const add = (a: number, b: number): number => a + b\nexport const unheld = 1\n`
const TESTS = `
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { add } from '../src/add.ts'
test('a sum is a sum', () => assert.equal(add(1, 2), 3))
test('another one', () => assert.equal(add(0, 0), 0))
`

/** A checkout with two promises, one of which is held by a test. */
function checkout(t: import('node:test').TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-mutants-'))
  t.after(() => rmSync(dir, { recursive: true }))
  for (const name of ['test/support/end.mjs', 'test/mutants/reporter.mjs', 'package.json']) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    cpSync(join(ROOT, name), join(dir, name))
  }
  mkdirSync(join(dir, 'src'))
  writeFileSync(join(dir, 'src/add.ts'), SOURCE)
  writeFileSync(join(dir, 'test/add.test.ts'), TESTS)
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  return dir
}

const held: Mutant = {
  name: 'sum',
  promise: 'a sum is a sum',
  file: 'src/add.ts',
  from: 'a + b',
  to: 'a - b',
  noticedBy: [['test/add.test.ts', 'a sum is']],
}

test('a mutant is noticed by the tests that it names, survives others, and leaves the file as it was', async (t) => {
  const dir = checkout(t)
  const releases = new Releases()
  const { verdict } = await judge(dir, held, releases)
  assert.deepEqual(verdict, {
    kind: 'noticed',
    test: 'a sum is a sum',
    by: 'Expected values to be strictly equal: -1 !== 3',
  })
  assert.equal(readFileSync(join(dir, 'src/add.ts'), 'utf8'), SOURCE)
  const other: Mutant = { ...held, noticedBy: [['test/add.test.ts', 'another']] }
  assert.deepEqual((await judge(dir, other, releases)).verdict, { kind: 'survived' })
  await assert.rejects(judge(dir, { ...held, from: 'gone' }, releases), /does not hold the text any more/)
  await assert.rejects(judge(dir, { ...held, from: 'number' }, releases), /more than once/)
})

test('tests that do not pass without a mutant, or are not there, end the run', async (t) => {
  const dir = checkout(t)
  const releases = new Releases()
  await runBaseline(dir, 'test/add.test.ts', [held], releases)
  const unknown: Mutant = { ...held, noticedBy: [['test/add.test.ts', 'a sum is', 'no such test']] }
  await assert.rejects(runBaseline(dir, 'test/add.test.ts', [unknown], releases), /runs no test named: no such test/)
  writeFileSync(join(dir, 'src/add.ts'), SOURCE.replace('a + b', 'a * b'))
  await assert.rejects(runBaseline(dir, 'test/add.test.ts', [held], releases), /does not pass without a mutant/)
})
