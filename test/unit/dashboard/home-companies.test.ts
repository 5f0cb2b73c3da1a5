import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HomeAnswer } from '../../../schemas/dashboard/home.ts'
import { otherCompanies } from '../../../src/dashboard/pages/lib/home-companies.ts'

const of = (...ids: readonly string[]) => ids.map((company_id) => ({ company_id })) as HomeAnswer['rising']

test('each company of the week is on Home once, those to look at first not again', () => {
  const others = otherCompanies({
    to_look_at: [{ company_id: 'first', why: 'is new' }],
    rising: of('first', 'hot', 'hot and back'),
    newcomers: of('new'),
    returned: of('hot and back', 'back', 'first', 'also back'),
  })
  assert.deepEqual(
    others.map(({ kind, company }) => `${kind}: ${company.company_id}`),
    // In turn, so that no kind crowds out the others. The first kind of a company is the one that is named.
    ['newcomer: new', 'returned: hot and back', 'rising: hot', 'returned: back', 'returned: also back'],
  )
})
