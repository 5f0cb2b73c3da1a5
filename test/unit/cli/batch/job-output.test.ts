import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BatchJob } from '../../../../schemas/api/batch.ts'
import { BadRows } from '../../../../src/pipeline/sources/batch/commands/bad-rows.ts'
import { printJob, printJobs } from '../../../../src/pipeline/sources/batch/commands/job-output.ts'
import { printed } from '../../../support/printed.ts'

const PROBLEM = 'most of the 9 lines were not kept: 8 rejected (7 of them: session_id must be an integer)'
const job: BatchJob = {
  ...{ job_id: 'j1', status: 'completed', progress_pct: 100, progress_current: 9, progress_total: 9 },
  ...{ progress_message: 'all 9 events finished, 8 rejected', rejected: 8, problem: PROBLEM },
  ...{ rejected_lines: null, cancelled: false, label: null, stored: 1, started_at: null, ended_at: null },
  rejected_reasons: [
    { reason: 'session_id must be an integer', count: 7, lines: [1, 2, 3, 4, 5] },
    { reason: 'is not JSON', count: 1, lines: [8] },
  ],
  result_summary: {
    ...{ processed: 9, valid_ips: 1, identified_ips: 1, rejected: 8, filtered: 0, invalid_ip: 0, duplicates: 0 },
    errors: [
      ...[1, 2, 3, 4, 5, 6, 7].map((line) => ({ line, detail: 'session_id must be an integer' })),
      { line: 8, detail: "is not JSON: Unexpected token 'x'" },
    ],
    rejected_reasons: [],
  },
}

test('a job is shown with its rejected lines by reason, and no error is repeated', () => {
  const bad = new BadRows()
  for (let line = 10; line < 20; line++) bad.add(line, 'timestamp is wrong', `timestamp ${line} is wrong`)
  bad.add(30, 'has a quote that is not closed', 'has a quote that is not closed')
  const lines = printed((out) => printJob(out, job, bad))
    .trimEnd()
    .split('\n')
  assert.deepEqual(lines.slice(-4), [
    "line 8: is not JSON: Unexpected token 'x'",
    'line 30: has a quote that is not closed',
    '7 lines, first 1, 2, 3, 4, 5: session_id must be an integer',
    '10 lines, first 10, 11, 12, 13, 14: timestamp is wrong',
  ])
  const kept = { kept: 8, complete: true, expires_at: null }
  const named = printed((out) => printJob(out, { ...job, rejected_lines: kept }, bad))
    .trimEnd()
    .split('\n')
  assert.equal(named.at(-1), '8 rejected lines, for a day: ./ipid batch rejected j1')
  assert.ok(lines.includes(`problem          ${PROBLEM}`))
  assert.ok(lines.includes('rejected         8') && lines.includes('unreadable       11'))
  const running: BatchJob = { ...job, status: 'running', result_summary: null, problem: null }
  assert.match(
    printed((out) => printJob(out, running)),
    /\nrejected +8\nline 8: is not JSON\n7 lines, first 1, /,
  )
})

test('a bad line sends no control characters to the terminal, and a dead letter is one line', () => {
  const died = { reason: 'could not be processed: see the dead letters', count: 1, lines: [] }
  const evil: BatchJob = {
    ...job,
    rejected_reasons: [{ reason: 'is not JSON', count: 1, lines: [8] }, died],
    result_summary: {
      ...job.result_summary!,
      errors: [{ line: 8, detail: 'is not JSON: \u001b]0;owned\u0007\r\u202e' }],
    },
  }
  const lines = printed((out) => printJob(out, evil))
    .trimEnd()
    .split('\n')
  assert.deepEqual(lines.slice(-2), [
    'line 8: is not JSON: \\u001b]0;owned\\u0007\\r\\u202e',
    '1 line: could not be processed: see the dead letters',
  ])
})

test('the list of jobs counts rejected lines, and says why a completed job is a problem', () => {
  const listed = { ...job, received_at: '2026-11-22T02:29:13.790Z' }
  const [heading, row, fine] = printed((out) => {
    printJobs(out, { jobs: [listed, { ...listed, rejected: 0, problem: null }], next: null })
  }).split('\n')
  assert.match(heading!, /^JOB +RECEIVED +STATUS +FINISHED +OF +REJECTED +WHY$/)
  assert.match(row!, /^j1 .* completed +9 +9 +8 +most of the 9 lines were not kept: 8 rejected \(7 of them/)
  assert.match(fine!, /^j1 .* completed +9 +9 +0 +-$/)
})
