import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressLine } from '../../../../src/pipeline/sources/batch/commands/progress-bar.ts'

const HALF = { what: 'uploading', unit: 'bytes', value: 5e6, total: 1e7, perSecond: 2e6, secondsLeft: 2.4 }

test('the line of progress fits the terminal at any width', () => {
  assert.match(
    progressLine(HALF, 120),
    /^uploading █{15}░{15} {2}50 % {2}5,000,000 of 10,000,000 bytes {2}2,000,000\/s {2}2 s left$/,
  )
  for (let columns = 1; columns <= 120; columns++) assert.ok(progressLine(HALF, columns).length < columns, `${columns}`)
  assert.match(progressLine(HALF, 40), /^uploading █+░+ {2}50 %$/)
})

test('without a total it shows the amount', () => {
  const line = progressLine({ ...HALF, total: 0, secondsLeft: Number.NaN }, 80)
  assert.equal(line, 'uploading 5,000,000 bytes  2,000,000/s')
})
