import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompanyReason } from '../../../schemas/dashboard/company.ts'
import { linkedInSearch, siteUrl } from '../../../src/dashboard/pages/lib/company-links.ts'
import { stepsOf, trailState } from '../../../src/dashboard/pages/lib/company-trail.ts'
import { whySentence } from '../../../src/dashboard/pages/lib/why-sentence.ts'

test('a company has the neighbours of the list that it was opened from', () => {
  const state = trailState({ ids: ['a', 'b', 'c'], before: 50, total: 120 })
  assert.deepEqual(stepsOf(state, 'b'), { position: 52, total: 120, previous: 'a', next: 'c' })
  assert.deepEqual(stepsOf(state, 'a'), { position: 51, total: 120, previous: undefined, next: 'b' })
  assert.deepEqual(stepsOf(state, 'c'), { position: 53, total: 120, previous: 'b', next: undefined })
  for (const other of [null, undefined, {}, { isReturn: true }]) assert.equal(stepsOf(other, 'a'), undefined)
  assert.equal(stepsOf(state, 'd'), undefined)
  assert.equal(stepsOf(trailState({ ids: ['a', 'b'], before: 50, total: 51 }), 'b')?.total, 52)
})

test('only a domain becomes a link to a site, and a name is one word of a search', () => {
  assert.equal(siteUrl('apple.com'), 'https://apple.com/')
  for (const no of [
    '',
    'localhost',
    'a.example/x',
    'user@a.example',
    'a.example:80',
    'a.example?x',
    'a b.example',
    'x\\a.example',
  ]) {
    assert.equal(siteUrl(no), undefined, no)
  }
  assert.equal(
    linkedInSearch('people', 'A & B?'),
    'https://www.linkedin.com/search/results/people/?keywords=A+%26+B%3F',
  )
})

test('why a company was recognised is one sentence', () => {
  const value = {
    attribute: 'business_name',
    value: 'Apple',
    provider: 'starter',
    network: '17.0.0.0/8',
    word: null,
    precision: null,
  }
  const reason = { ip: '17.0.0.1', events: 3, is_same: true, values: [value], rule: 'x', asked: [], answered: [] }
  const start = 'Its most frequent address, 17.0.0.1,'
  const sentence = (changes: Partial<CompanyReason>) => whySentence({ ...reason, ...changes }, 'Apple Inc')
  assert.equal(sentence({}), `${start} is in 17.0.0.0/8, which the data set “starter” gives to Apple.`)
  assert.equal(
    sentence({ values: [{ ...value, network: null }] }),
    `${start} belongs to Apple, says the data set “starter”.`,
  )
  assert.equal(sentence({ values: [] }), `${start} belongs to Apple Inc by today’s data.`)
  assert.match(sentence({ is_same: false }), /no longer says so\.$/)
})
