import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainOf, endsOf } from '../../../src/companies/corrections/merges.ts'

test('a company counts for the end of its chain of merges', () => {
  const merges = new Map([
    ['b', 'c'],
    ['a', 'b'],
    ['x', 'y'],
  ])
  assert.deepEqual(chainOf('a', merges), ['a', 'b', 'c'])
  assert.deepEqual(Object.fromEntries(endsOf(merges)), { a: 'c', b: 'c', x: 'y' })
})

test('of a circle that two writers made, the older merges hold', () => {
  const merges = new Map([
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'a'],
  ])
  assert.deepEqual(Object.fromEntries(endsOf(merges)), { a: 'c', b: 'c' })
  assert.deepEqual(chainOf('a', merges), ['a', 'b', 'c'])
})
