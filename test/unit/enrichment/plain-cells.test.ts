import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainCells } from '../../../src/enrichment/providers/text/csv-rows.ts'

test('cells of a plain line are read like a CSV parser reads them', () => {
  assert.deepEqual(plainCells(' a ,"b, ""c""" , d'), ['a', 'b, "c"', 'd'])
  assert.deepEqual(plainCells('"a",'), ['a', ''])
  assert.deepEqual(plainCells('"",""'), ['', ''])
  for (const line of ['a "b"', '"a" b', '"a', '"a""', 'a,b"']) assert.equal(plainCells(line), undefined, line)
})

test('a line of blanks is read in one pass', () => {
  // An expression with three repetitions took two minutes for 8,000 blanks, and would take hours for these.
  const blanks = ' '.repeat(500_000)
  for (const line of [`${blanks}x"`, `a,${blanks}x "`]) assert.equal(plainCells(line), undefined)
  assert.deepEqual(plainCells(`"a"${blanks},${blanks}b`), ['a', 'b'])
})
