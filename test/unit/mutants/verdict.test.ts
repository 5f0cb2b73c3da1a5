import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestReport, verdictOf } from '../../mutants/verdict.ts'

const passed: TestReport = {
  passed: true,
  name: 'holds',
  file: 'test/unit/a.test.ts',
  nesting: 0,
  skipped: false,
  durationMs: 10,
  message: '',
}
const failed = (more: Partial<TestReport>): TestReport => {
  return { ...passed, passed: false, name: 'fails', failure: 'testCodeFailure', message: 'Error', ...more }
}

test('what no test notices has survived', () => {
  assert.deepEqual(verdictOf([passed], false), { kind: 'survived' })
})

test('an assertion says more than what else failed with it', () => {
  const reports = [
    failed({ message: 'not true within 40000 ms' }),
    failed({ name: 'counts', code: 'ERR_ASSERTION', message: 'Expected values to be strictly equal:\n\n1 !== 2\n' }),
    failed({ name: 'outer', failure: 'subtestsFailed', message: '1 subtest failed' }),
  ]
  assert.deepEqual(verdictOf(reports, true), {
    kind: 'noticed',
    test: 'counts',
    by: 'Expected values to be strictly equal: 1 !== 2',
  })
})

test('a wait that ended soon has noticed, one that took long has not, and neither has a file that had to be ended', () => {
  const wait = { message: 'not true within 40000 ms: last seen: 1' }
  assert.equal(verdictOf([failed({ ...wait, durationMs: 41_000 })], false).kind, 'noticed')
  assert.equal(verdictOf([failed({ ...wait, durationMs: 90_000 })], false).kind, 'timed out')
  assert.equal(verdictOf([failed({ failure: 'testTimeoutFailure', message: 'timed out' })], false).kind, 'timed out')
  assert.equal(verdictOf([passed, failed({ name: 'test/unit/a.test.ts' })], false).kind, 'timed out')
  assert.equal(verdictOf([passed], true).kind, 'timed out')
})

test('code that does not run says nothing of the tests', () => {
  const message = 'ERR Error compiling script (new function): user_script:3: unexpected symbol'
  assert.equal(verdictOf([failed({ message }), failed({ code: 'ERR_ASSERTION' })], false).kind, 'does not run')
  const exit = failed({ name: 'test/unit/a.test.ts', message: 'test failed' })
  assert.equal(verdictOf([exit], false).kind, 'does not run', 'the file ended before a test began')
})
