import assert from 'node:assert/strict'
import { test } from 'node:test'
import { activeFilters } from '../../../src/dashboard/pages/lib/active-filters.ts'
import { FILTER_NAMES } from '../../../src/dashboard/pages/lib/company-view.ts'

const COLUMNS = [
  { key: 'umsatz', name: 'Umsatz', type: 'number' },
  { key: 'renewal', name: 'Renewal', type: 'date' },
] as const
const shown = (query: string) =>
  activeFilters(new URLSearchParams(query), COLUMNS).map(({ label, words }) => `${label}: ${words}`)

/** The URL after a filter was removed. */
function without(query: string, label: string): string {
  const state = new URLSearchParams(query)
  const { clear } = activeFilters(state, COLUMNS).find((filter) => filter.label === label)!
  for (const [name, value] of Object.entries(clear)) {
    state.delete(name)
    for (const each of typeof value === 'string' ? [value] : value) if (each !== '') state.append(name, each)
  }
  return state.toString()
}

test('each filter of a URL has a name and its value in words', () => {
  for (const [query, ...expected] of [
    ['page=2&sort=name&when=7d&hide=domain&segment=s1'],
    ['q=acme&industry=Banking&industry=-', 'Search: acme', 'Industry: Banking or Not known'],
    ['country=DE&fit=good&last_channel=paid', 'Visits from: Germany', 'Fit: Good', 'Last touch: Paid'],
    ['at=/pricing&page_visits_min=2', 'Page: contains /pricing, on 2 visits or more'],
    ['page_is=/a&page_is=/b', 'Page: /a or /b'],
    ['visits=1200&heat_min=50', 'Visits: at least 1,200', 'Heat: at least 50'],
    ['new_days=7', 'New: last 7 days'],
    ['new=2026-11-03T04:05:06Z', 'New: since 2026-11-03'],
    [
      'hidden=only&merged=only',
      'Hidden companies: only these',
      'Merged companies: companies that others were merged into',
    ],
    ['own=umsatz>=1000&own=umsatz<=2000&own=gone~x', 'Umsatz: at least 1,000, at most 2,000', 'gone: contains x'],
    ['tag_not=customer&events_min=5', 'Tag: not customer', 'Events: at least 5'],
    ['condition=(tag=a or tag=b)', 'Also: (tag=a or tag=b)'],
  ] as const) {
    assert.deepEqual(shown(query.replaceAll('>=', '%3E=').replaceAll('<=', '%3C=')), expected, query)
  }
})

test('a filter is removed alone, and the list begins with its first page', () => {
  const query = 'q=acme&industry=Banking&page=3'
  assert.equal(without(query, 'Search'), 'industry=Banking')
  assert.equal(without(query, 'Industry'), 'q=acme')
  assert.equal(without('at=%2Fpricing&page_visits_min=2&q=a', 'Page'), 'q=a')
  assert.equal(without('new=2026-11-03&new_days=7&q=a', 'New'), 'q=a')
  assert.equal(without('own=umsatz%3E%3D1&own=renewal%3C2026-01-01', 'Umsatz'), 'own=renewal%3C2026-01-01')
})

test('no filter of a URL is left out', () => {
  const values: Readonly<Record<string, string>> = {
    ...{ own: 'umsatz>=1', hidden: 'only', merged: 'only', page_visits_min: '2' },
    ...{ visits: '2', heat_min: '2', new: '2026-11-03', new_days: '7', condition: 'tag=a' },
    ...{ visits_max: '2', events_min: '2', events_max: '2', heat_max: '2' },
  }
  for (const name of FILTER_NAMES) {
    // It belongs to a page.
    if (name === 'page_visits_min') continue
    assert.equal(activeFilters(new URLSearchParams({ [name]: values[name] ?? 'a' }), COLUMNS).length, 1, name)
  }
})
