import assert from 'node:assert/strict'
import { test } from 'node:test'
import { narrowed } from '../../../src/companies/narrow.ts'

test('a filter narrows another one, and never widens it', () => {
  assert.deepEqual(
    narrowed(
      {
        country: ['DE', 'FR'],
        industry_not: ['Food'],
        visits_min: 3,
        visits_max: 9,
        new_since: '2026-01-02',
        new_days: 30,
      },
      {
        ...{ country: ['FR', 'IT'], industry_not: ['Steel'], visits_min: 2, visits_max: 8, new_since: '2026-01-01' },
        ...{ page: ['/pricing'], days: 7, new_days: 7 },
      },
    ),
    {
      ...{ country: ['FR'], industry_not: ['Food', 'Steel'], visits_min: 3, visits_max: 8, new_since: '2026-01-02' },
      ...{ page: ['/pricing'], days: 7, new_days: 7 },
    },
  )
  assert.equal(narrowed({ country: ['DE'] }, { country: ['FR'] }), undefined)
  assert.deepEqual(narrowed({ search: 'a', hidden: 'with' }, { search: 'a' }), { search: 'a', hidden: 'with' })
  assert.equal(narrowed({ status: ['customer'] }, { status: ['partner'] }), undefined)
  assert.deepEqual(narrowed({ own: ['size>=5', 'team=a'] }, { own: ['size<9', 'size>=5'] }), {
    own: ['size>=5', 'team=a', 'size<9'],
  })
  for (const [base, further, message] of [
    [{ own: ['team=a'] }, { own: ['team=b'] }, 'own: the segment has a filter on this already'],
    [{ page: ['/a'] }, { page: ['/b'] }, 'page: the segment has a filter on this already'],
    [{ page_contains: ['/a'] }, { page_contains: ['/b'] }, 'page_contains: the segment has a filter on this already'],
    [{ tag: ['a'] }, { tag: ['b'] }, 'tag: the segment has a filter on this already'],
    [{ search: 'a' }, { search: 'b' }, 'search: the segment has a filter on this already'],
    [{ days: 30 }, { from: '2026-01-01' }, 'days: the segment has days already'],
  ] as const) {
    const [one, other] = [base, further].map((filter) => structuredClone(filter) as object)
    assert.throws(() => narrowed(one!, other!), { name: 'InputError', message })
  }
})
