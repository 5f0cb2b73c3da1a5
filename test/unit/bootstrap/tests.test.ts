import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { together } from '../../../src/bootstrap/tests.mjs'

const TEST_DIR = fileURLToPath(new URL('../../', import.meta.url))

/** What the runner is given for some files of tests: those that run alone, and those of each process that runs several. */
function runOf(t: TestContext, files: readonly string[]): { alone: string[]; groups: string[][] } {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-tests-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const given = together(files, dir)
  const groups = given
    .filter((path) => path.startsWith(dir))
    .map((path) => [...readFileSync(path, 'utf8').matchAll(/"(file:.*)"/g)].map(([, url]) => fileURLToPath(url!)))
  return { alone: given.filter((path) => !path.startsWith(dir)).map((path) => resolve(path)), groups }
}

test('every file of tests runs once: units in one process, others by eight, and what starts something while it is loaded alone', (t) => {
  const files = readdirSync(TEST_DIR, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(TEST_DIR, name))
  const { alone, groups } = runOf(t, files)
  assert.deepEqual([...alone, ...groups.flat()].sort(), files.sort())
  const units = groups.filter((group) => group.some((file) => file.includes('/test/unit/')))
  assert.equal(units.length, 1)
  assert.ok(units[0]!.every((file) => file.includes('/test/unit/')))
  const others = groups.filter((group) => group !== units[0])
  assert.ok(others.length > 5 && others.every((group) => group.length > 1 && group.length <= 8))
  assert.ok(others.flat().every((file) => file.includes('/test/integration/')))
  const loads = (name: string) => alone.includes(join(TEST_DIR, 'integration', name))
  assert.deepEqual(['lots.test.ts', 'dashboard-settings.test.ts', 'lease.test.ts'].map(loads), [true, true, false])
})

test('a file that was asked for runs as it is', (t) => {
  const file = join(TEST_DIR, 'integration', 'lease.test.ts')
  assert.deepEqual(runOf(t, [file]), { alone: [file], groups: [] })
})

test('what tests an HTTP engine runs with the other one as well', () => {
  const dir = join(TEST_DIR, 'integration')
  const lists = ['requests.ts', 'connections.ts']
    .map((name) => readFileSync(join(dir, 'node-http', name), 'utf8'))
    .join('')
  const listed = [...lists.matchAll(/'\.\.\/(.*)'/g)].map(([, name]) => name)
  const servers = readdirSync(dir).filter(
    (name) => /(\bhttp\b.*|event-streams)\.test/.test(name) && name !== 'batch-http.test.ts',
  )
  assert.deepEqual(listed.sort(), servers.sort())
})
