import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  columnsChange,
  listPath,
  rangeChange,
  rangeOf,
  rememberList,
  searchOf,
  shownColumns,
  viewOf,
} from '../../../src/dashboard/pages/lib/company-view.ts'

const view = (query: string) => viewOf(new URLSearchParams(query))
const set = (query: string) =>
  Object.fromEntries(Object.entries(view(query)).filter(([, value]) => value !== undefined))

test('a cut or hand-typed link shows its readable parts', () => {
  assert.deepEqual(set('from=2026-11-01&to=2026-11-2&new=2026-11-03T04:05:06Z'), {
    from: '2026-11-01',
    new_since: '2026-11-03T04:05:06Z',
  })
  assert.deepEqual(set('when=all&from=yesterday&new=7d&to=2026-13-01&sort=nothing&dir=up'), {})
  assert.equal(view(`q=${'a'.repeat(300)}`).search?.length, 200)
})

test('the days of a URL: a span by name, days of its own, or the last 30', () => {
  const days = (query: string) => {
    const { from, to } = view(query)
    return (Date.parse(to!) - Date.parse(from!)) / 86_400_000 + 1
  }
  assert.deepEqual(['', 'when=7d', 'when=last-week', 'when=nonsense'].map(days), [30, 7, 7, 30])
  assert.deepEqual(set('when=all'), {})
  assert.deepEqual(set('when=7d&to=2026-11-03'), { to: '2026-11-03' })
  for (const range of [undefined, '30d', 'month', { from: '2026-11-01', to: '2026-11-03' }] as const) {
    assert.deepEqual(rangeOf(new URLSearchParams(rangeChange(range))), range)
  }
})

test('columns that are chosen are in the URL, and old URLs hide the same columns', () => {
  for (const query of [
    '',
    'hide=domain,events',
    'show=quality',
    'hide=visits&show=first_seen',
    'show=status,own.revenue',
  ]) {
    const shown = shownColumns(new URLSearchParams(query))
    assert.deepEqual(shownColumns(new URLSearchParams(columnsChange(shown))), shown, query)
  }
  assert.ok(!shownColumns(new URLSearchParams('hide=domain')).has('domain'))
  assert.ok(!shownColumns(new URLSearchParams()).has('quality'))
})

test('the search of a list is the same on each of its pages, however it is sorted and shown', () => {
  const search = (query: string) => searchOf(new URLSearchParams(query))
  assert.equal(search('q=a&country=DE&page=2&sort=name&dir=asc&hide=domain&segment=s1'), search('country=DE&q=a'))
  assert.notEqual(search('q=a'), search('q=b'))
  assert.notEqual(search('when=7d'), search(''))
})

test('conditions on own columns that are cut or wrong are ignored', () => {
  const own = ['revenue>=1000000', 'team=Ada, B.', 'renewal<2026-12-01', 'size>=much', 'size', '=1', 'a b=1']
  const query = new URLSearchParams([['when', 'all'], ...own.map((term): [string, string] => ['own', term])])
  assert.deepEqual(viewOf(query).own, ['revenue>=1000000', 'team=Ada, B.', 'renewal<2026-12-01'])
})

test('a filter has several values, and a wrong number is ignored', () => {
  assert.deepEqual(set('when=all&country=DE&country=FR&at=/pricing&page_is=shop.example/&visits=3'), {
    country: ['DE', 'FR'],
    page: ['shop.example/'],
    page_contains: ['/pricing'],
    visits_min: 3,
  })
  assert.deepEqual(set('when=all&visits=many'), {})
})

test('a company links back to the last view of the list, of its tenant', () => {
  rememberList('acme', 'q=univ&page=2')
  assert.equal(listPath('acme'), '/t/acme/companies?q=univ&page=2')
  assert.equal(listPath('other'), '/t/other/companies')
  rememberList('acme', '')
  assert.equal(listPath('acme'), '/t/acme/companies')
})
