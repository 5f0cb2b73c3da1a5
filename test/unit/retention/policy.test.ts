import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commonFloor, removesAnything, retentionFloor } from '../../../src/operations/retention/policy.ts'

const NOW = Date.parse('2026-11-22T23:59:59.999Z')

test("whole days are kept, by the tenant's number or else the default", () => {
  const policy = {
    defaultDays: 30,
    ofTenants: new Map([
      ['short', 1],
      ['for-ever', 0],
    ]),
  }
  assert.equal(retentionFloor(policy, 'other', NOW), '2026-10-23')
  assert.equal(retentionFloor(policy, 'short', NOW), '2026-11-21')
  assert.equal(retentionFloor(policy, 'for-ever', NOW), undefined)
  assert.equal(retentionFloor({ ...policy, defaultDays: undefined }, 'other', NOW), undefined)
})

test('a month may go when no tenant keeps a day of it, known or not', () => {
  const days = (...own: number[]) => new Map(own.map((n, i) => [`t${i}`, n]))
  assert.equal(commonFloor({ defaultDays: 30, ofTenants: days(1, 60) }, NOW), '2026-09-23')
  assert.equal(commonFloor({ defaultDays: 30, ofTenants: days(1) }, NOW), '2026-10-23')
  assert.equal(commonFloor({ defaultDays: 30, ofTenants: days(1, 0) }, NOW), undefined)
  assert.equal(commonFloor({ defaultDays: undefined, ofTenants: days(1) }, NOW), undefined)
})

test('nothing is read while everything is kept', () => {
  assert.equal(removesAnything({ defaultDays: undefined, ofTenants: new Map([['a', 0]]) }), false)
  assert.equal(removesAnything({ defaultDays: undefined, ofTenants: new Map([['a', 5]]) }), true)
  assert.equal(removesAnything({ defaultDays: 5, ofTenants: new Map([['a', 0]]) }), true)
})
