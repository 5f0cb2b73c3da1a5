import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompanyReason } from '../../../schemas/dashboard/company.ts'
import { linkedInSearch, siteUrl } from '../../../src/dashboard/pages/lib/company-links.ts'
import { stepsOf, trailAmong, trailInto, trailState } from '../../../src/dashboard/pages/lib/company-trail.ts'
import { touchesOf } from '../../../src/dashboard/pages/lib/touches.ts'
import { whySentence } from '../../../src/dashboard/pages/lib/why-sentence.ts'

test('a company has the neighbours of the list that it was opened from', () => {
  const state = trailState({ ids: ['a', 'b', 'c'], before: 50, total: 120 })
  const [a, b, c] = ['a', 'b', 'c'].map((id) => ({ id }))
  assert.deepEqual(stepsOf(state, 'b', 3), { position: 52, total: 120, previous: a, next: c })
  assert.deepEqual(stepsOf(state, 'a', 3), { position: 51, total: 120, previous: undefined, next: b })
  assert.deepEqual(stepsOf(state, 'c', 3), { position: 53, total: 120, previous: b, next: undefined })
  for (const other of [null, undefined, {}, { isReturn: true }]) assert.equal(stepsOf(other, 'a', 3), undefined)
  assert.equal(stepsOf(state, 'd', 3), undefined)
  assert.equal(stepsOf(trailState({ ids: ['a', 'b'], before: 50, total: 51 }), 'b', 3)?.total, 52)
  assert.deepEqual(trailAmong(['a', 'b', 'a']), trailState({ ids: ['a', 'b'], before: 0, total: 2 }))
  assert.equal(trailAmong(['a', 'a']), undefined)
})

test('at the end of a part of a list is the next part', () => {
  const list = { path: 'companies', query: { sort: 'name' } } as const
  const part = (ids: string[], before: number) => ({ ids, before, total: 8, list })
  const steps = (ids: string[], before: number, id: string) => {
    const { previous, next } = stepsOf(trailState(part(ids, before)), id, 3)!
    return [previous, next]
  }
  assert.deepEqual(steps(['d', 'e', 'f'], 3, 'd'), [{ offset: 0 }, { id: 'e' }])
  assert.deepEqual(steps(['d', 'e', 'f'], 3, 'f'), [{ id: 'e' }, { offset: 6 }])
  assert.deepEqual(steps(['a', 'b', 'c'], 0, 'a'), [undefined, { id: 'b' }])
  assert.deepEqual(steps(['g', 'h'], 6, 'h'), [{ id: 'g' }, undefined])
  // The list may begin in the middle of a part.
  assert.deepEqual(steps(['b', 'c', 'd'], 1, 'b'), [{ offset: 0 }, { id: 'c' }])
  const now = part(['d', 'e', 'f'], 3)
  assert.deepEqual(trailInto(now, { ids: ['g', 'h'], offset: 6, total: 8 }), { id: 'g', trail: part(['g', 'h'], 6) })
  assert.deepEqual(trailInto(now, { ids: ['a', 'b', 'c'], offset: 0, total: 8 })?.id, 'c')
  // Somebody moved: f is in the next part too, and d in the one before.
  assert.deepEqual(trailInto(now, { ids: ['f', 'g'], offset: 6, total: 8 })?.id, 'g')
  assert.deepEqual(trailInto(now, { ids: ['b', 'c', 'd'], offset: 0, total: 8 })?.id, 'c')
  assert.equal(trailInto(now, { ids: [], offset: 6, total: 6 }), undefined)
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

test('touches are awaited while they load, kept after an error, and left out when they never came', () => {
  const value = { first_touch: null, last_touch: null }
  const error = new Error('down')
  assert.equal(touchesOf({ value: undefined, error: undefined }), undefined)
  assert.deepEqual(touchesOf({ value: undefined, error }), value)
  assert.equal(touchesOf({ value, error }), value)
})
