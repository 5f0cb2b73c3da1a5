import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CompanyFilter, FILTER_PROPERTIES } from '../../../schemas/companies.ts'
import { rangeOf } from '../../../src/dashboard/pages/lib/company-view.ts'
import { isSameFilter, segmentFilter, segmentPath } from '../../../src/dashboard/pages/lib/segment-view.ts'

const search = (filter: CompanyFilter) =>
  new URLSearchParams(segmentPath('demo', { segment_id: 's1', filter }).split('?')[1])

test('the list shows every filter of a segment, and saves the same one', () => {
  const values: Record<string, string | string[]> = {
    own: ['revenue>=1000000', 'team=c,"d"'],
    hidden: 'only',
    merged: 'only',
    from: '2026-11-01',
    to: '2026-11-20',
    new_since: '2026-11-03',
  }
  for (const [name, { type }] of Object.entries(FILTER_PROPERTIES) as [string, { type?: string }][]) {
    const value = values[name] ?? (type === 'array' ? ['a b', 'c,"d"'] : type === 'integer' ? 12 : 'a&b=c')
    const filter = { [name]: value } as CompanyFilter
    assert.deepEqual(segmentFilter(search(filter)), filter, name)
  }
})

test('a segment looks at a number of last days, whatever span the list has', () => {
  const saved = (query: string) => segmentFilter(new URLSearchParams(query))
  assert.deepEqual(saved('country=DE'), { country: ['DE'], days: 30 })
  assert.deepEqual(
    ['today', '7d', 'week', 'last-week', 'month'].map((when) => saved(`when=${when}`).days),
    [1, 7, 7, 7, 30],
  )
  assert.deepEqual(saved('when=all&days='), {})
  assert.deepEqual(
    [rangeOf(search({ days: 7 })), rangeOf(search({ days: 30 })), rangeOf(search({}))],
    ['7d', '30d', undefined],
  )
  const own = rangeOf(search({ days: 90 })) as { from: string; to: string }
  assert.equal((Date.parse(own.to) - Date.parse(own.from)) / 86_400_000, 89)
})

test('a segment of companies that are new in the last days moves on, and one since a date keeps it', () => {
  const saved = (query: string) => segmentFilter(new URLSearchParams(query))
  assert.deepEqual(saved('when=all&new_days=7'), { new_days: 7 })
  assert.deepEqual(saved('when=all&new=2026-11-03'), { new_since: '2026-11-03' })
  assert.equal(search({ new_days: 7 }).get('new_days'), '7')
})

test('filters are the same whatever the order of their values', () => {
  assert.ok(isSameFilter({ country: ['DE', 'FR'], days: 7 }, { days: 7, country: ['FR', 'DE'], search: '' }))
  assert.ok(isSameFilter({ hidden: 'without' }, {}))
  assert.ok(!isSameFilter({ country: ['DE'] }, { country: ['DE', 'FR'] }))
})
