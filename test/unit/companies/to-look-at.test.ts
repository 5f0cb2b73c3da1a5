import assert from 'node:assert/strict'
import { test } from 'node:test'
import { companiesToLookAt } from '../../../src/companies/to-look-at.ts'
import { homeCompany as company, risingCompany as rising } from '../../support/home-week.ts'

const NONE = { rising: [], newcomers: [], returned: [] }

test('the companies to look at are five, of each kind in turn', () => {
  const names = (prefix: string) => Array.from({ length: 6 }, (_, i) => `${prefix}${i}`)
  const week = {
    rising: names('r').map((name) => rising(name, 60, 40)),
    newcomers: names('n').map((name) => company(name)),
    returned: names('b').map((name) => company(name)),
  }
  const namesOf = (part: Partial<typeof week>) =>
    companiesToLookAt({ ...NONE, ...part }).map(({ company: { name } }) => name)
  assert.deepEqual(namesOf(week), ['r0', 'n0', 'b0', 'r1', 'n1'])
  assert.deepEqual(namesOf({ newcomers: week.newcomers }), ['n0', 'n1', 'n2', 'n3', 'n4'])
  assert.deepEqual(namesOf({ rising: week.rising.slice(0, 1), returned: week.returned }), [
    'r0',
    'b0',
    'b1',
    'b2',
    'b3',
  ])
  assert.deepEqual(namesOf({}), [])
})

test('good fits come first, and poor ones only where there is nothing else', () => {
  const fitting = (name: string, fit: string) => company(name, { fit })
  const week = {
    rising: [rising('r-poor', 60, 40, { fit: 'poor' }), rising('r-ok', 60, 40, { fit: 'ok' })],
    newcomers: [fitting('n-ok', 'ok'), fitting('n-good', 'good'), fitting('n-poor', 'poor')],
    returned: [fitting('b-good', 'good')],
  }
  const namesOf = (part: Partial<typeof week>) =>
    companiesToLookAt({ ...NONE, ...part }).map(({ company: { name } }) => name)
  assert.deepEqual(namesOf(week), ['b-good', 'n-good', 'n-ok', 'r-ok'])
  assert.deepEqual(namesOf({ newcomers: [fitting('poor', 'poor'), fitting('worse', 'poor')] }), ['poor', 'worse'])
})

for (const [why, week] of [
  ['is a good fit and new: 4 visits', { newcomers: [company('A', { fit: 'good' })] }],
  ['came back after more than 4 weeks: 4 visits', { returned: [company('A', { fit: 'ok' })] }],
  [
    'is a good fit and came back after 19 days: 4 visits',
    { returned: [company('A', { fit: 'good', last_day_before: '2026-11-01' })] },
  ],
  [
    'is a good fit and heating up: heat 62, 22 more than 7 days before',
    { rising: [rising('A', 62, 40, { fit: 'good' })] },
  ],
  [
    'is heating up: heat 62, 22 more than 7 days before, read /pricing',
    { rising: [rising('A', 62, 40, { intent_page: 'shop.example/pricing', last_page: 'shop.example/docs' })] },
  ],
  [
    'visits more than usual: 9 visits in 7 days, usually 2.5, last on /docs',
    { rising: [rising('A', 41, 40, { week_visits: 9, usual_visits: 2.5, last_page: 'x.example/docs' })] },
  ],
  [
    'is new: 1 visit, began on /blog',
    { newcomers: [company('A', { week_visits: 1, first_page: 'shop.example/blog' })] },
  ],
  ['is new: 4 visits', { newcomers: [company('A')] }],
  [
    'came back after 19 days: 4 visits, last on /docs',
    { returned: [company('A', { last_day_before: '2026-11-01', last_page: '/docs' })] },
  ],
  ['came back after more than 4 weeks: 4 visits', { returned: [company('A')] }],
] as const) {
  test(`a company ${why}`, () => {
    assert.equal(companiesToLookAt({ ...NONE, ...(week as object) })[0]!.why, why)
  })
}
