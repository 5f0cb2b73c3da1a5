import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counted, time } from '../../../src/dashboard/pages/lib/format.ts'

test('one uses the singular', () => {
  assert.equal(counted(1, 'event'), '1 event')
  assert.equal(counted(0, 'event'), '0 events')
  assert.equal(counted(1234, 'company', 'companies'), '1,234 companies')
})

test('a moment of another year names it', () => {
  const now = new Date('2026-11-22T12:00:00Z')
  assert.match(time('2025-11-20T12:00:00Z', now), /2025/)
  assert.doesNotMatch(time('2026-11-20T12:00:00Z', now), /2026/)
})
