import assert from 'node:assert/strict'
import { test } from 'node:test'
import { returnPathOf } from '../../../src/dashboard/pages/lib/return-path.ts'

const ORIGIN = 'http://ipid.example:8081'
const HOUR_MS = 3_600_000
const read = (path: unknown, ageMs = 0) =>
  returnPathOf(JSON.stringify({ path, atMs: 50 * HOUR_MS - ageMs }), ORIGIN, 50 * HOUR_MS)

test('a kept address leads to a page of this origin, for 12 hours', () => {
  const page = '/t/acme/companies/of?id=as%3A1%2F2&days=7#pages'
  assert.equal(read(page), page)
  assert.equal(read(page, 12 * HOUR_MS - 1), page)
  assert.equal(read(page, 12 * HOUR_MS), undefined)
  assert.equal(read(page, -1), undefined, 'from the future')
})

test('no kept address leads to another site', () => {
  const hostile = [
    ...[
      '//evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      '/\t/evil.example',
      '/.//evil.example',
      '/x/..//evil.example',
    ],
    ...['https://evil.example/', 'javascript:alert(1)', 'data:text/html,x', '', 'relative', `/${'x'.repeat(4_000)}`],
    ...[undefined, null, 7, ['/t/acme'], { path: '/' }],
  ]
  for (const path of hostile) assert.equal(read(path), undefined, String(path))
  for (const text of [null, '', '{', 'null', '7', '"/t/acme"', '{"path":"/t/acme"}', '{"path":"/t/acme","atMs":"1"}']) {
    assert.equal(returnPathOf(text, ORIGIN, 50 * HOUR_MS), undefined, String(text))
  }
})
