import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPath, rememberList, viewOf } from '../../../src/dashboard/pages/lib/company-view.ts'

const view = (query: string) => viewOf(new URLSearchParams(query))
const set = (query: string) =>
  Object.fromEntries(Object.entries(view(query)).filter(([, value]) => value !== undefined))

test('a cut or hand-typed link shows its readable parts', () => {
  assert.deepEqual(set('from=2026-11-01&to=2026-11-2&new=2026-11-03T04:05:06Z'), {
    from: '2026-11-01',
    new_since: '2026-11-03T04:05:06Z',
  })
  assert.deepEqual(set('from=yesterday&new=7d&to=2026-13-01&sort=nothing&dir=up'), {})
  assert.equal(view(`q=${'a'.repeat(300)}`).search?.length, 200)
})

test('a company links back to the last view of the list, of its tenant', () => {
  rememberList('acme', 'q=univ&page=2')
  assert.equal(listPath('acme'), '/t/acme/companies?q=univ&page=2')
  assert.equal(listPath('other'), '/t/other/companies')
  rememberList('acme', '')
  assert.equal(listPath('acme'), '/t/acme/companies')
})
