import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompanyFilter } from '../../../schemas/companies.ts'
import { allOf, anyOf, type Condition, notOf } from '../../../src/companies/condition.ts'
import { assertFilter } from '../../../src/companies/filter.ts'
import { groupsOf } from '../../../src/companies/groups.ts'
import { formatCondition, formatWhere, parseCondition, parseTerms, parseWhere } from '../../../src/companies/where.ts'
import { conditionText } from '../../../src/dashboard/pages/lib/condition.ts'
import { InputError } from '../../../src/run/errors.ts'

test('an expression is read beside the terms, and becomes fields where it can', () => {
  const read: readonly (readonly [string, CompanyFilter])[] = [
    ['(country=DE or country=AT) and not tag=customer', { country: ['DE', 'AT'], tag_not: ['customer'] }],
    ['country=DE or heat>=50', { condition: 'country=DE or heat>=50' }],
    ['days=30,(country=DE or heat>=50),visits>=2', { days: 30, visits_min: 2, condition: 'country=DE or heat>=50' }],
    ['days=30 and (tag=a or heat>=50) and tag=b', { days: 30, tag: ['b'], condition: 'tag=a or heat>=50' }],
    ['tag=a and tag=b', { tag: ['a'], condition: 'tag=b' }],
    ['tag=a,tag=b', { tag: ['a', 'b'] }],
    ['tag!=a and tag!=b', { tag_not: ['a', 'b'] }],
    ['NOT (country=DE AND heat<20)', { condition: 'not (country=DE and heat<=19)' }],
    ['not (country=DE or country=AT)', { country_not: ['DE', 'AT'] }],
    ['not not country=de', { country: ['DE'] }],
    ['country=DE or country=AT and heat>1', { condition: 'country=DE or country=AT and heat>=2' }],
    ['(country=DE or country=AT or tag=x)', { condition: '(country=DE or country=AT) or tag=x' }],
    [
      'page~/pricing and page_visits>=2 and (tag=a or owner=-)',
      {
        ...{ page_contains: ['/pricing'], page_visits_min: 2, condition: 'tag=a or owner=-' },
      },
    ],
    ['tag="a and b" or tag="(c)" or heat>1', { condition: 'tag="a and b" or tag="(c)" or heat>=2' }],
    ['tag="a" or owner=b', { condition: 'tag=a or owner=b' }],
    // Texts that were values stay values.
    ['search=Bang and Olufsen', { search: 'Bang and Olufsen' }],
    ['industry=Food (retail),country=DE', { industry: ['Food (retail)'], country: ['DE'] }],
    ['search=a and b=c', { search: 'a and b=c' }],
    ['search="x and country=DE"', { search: 'x and country=DE' }],
  ]
  for (const [text, filter] of read) {
    const found = parseWhere(text)
    if (filter.condition !== undefined) {
      assert.deepEqual(parseCondition(found.condition!), parseCondition(filter.condition), text)
      assert.deepEqual({ ...found, condition: '' }, { ...filter, condition: '' }, text)
    } else assert.deepEqual(found, filter, text)
    assert.deepEqual(parseWhere(formatWhere(found)), found, text)
  }
  assert.deepEqual(parseTerms(['days=7', 'condition=tag=a, b or heat>=5'.replace(', ', ''), '(owner=- or heat>9)']), {
    ...{ days: 7, condition: '(tag=ab or heat>=5) and (owner=- or heat>=10)' },
  })
})

test('a mistake in an expression says where it is, and what to write', () => {
  const deep = (n: number) => `${'('.repeat(n)}country=DE or heat>1${')'.repeat(n)}`
  const refused: readonly (readonly [string, RegExp])[] = [
    ['(country=DE or heat>=50', /^at the end: here comes and, or, or a closing parenthesis/],
    ['(country=DE or)', /^at character 15, "\)": here comes not, \( or a term, such as country=DE/],
    ['(country=DE) and', /^at the end: here comes not/],
    [
      'country=DE or colour=red and tag=a',
      /^at character 15, "colour=red and tag=a": "colour=red": there is no filter "colour"/,
    ],
    ['(country=DE) heat>=50', /^at character 14, "heat>=50": here comes and, or, a comma or the end/],
    ['(tag=a(b) or heat>1)', /^at character 7, .*closing parenthesis/],
    ['(country=DE or days=7)', /^"days=7": "days" is about the whole filter/],
    ['not hidden=only', /^"hidden=only": "hidden" is about the whole filter/],
    ['days=7,(days=8 and tag=a)', /^"days=8": is given twice/],
    [deep(9), /^at character 10, .*at most 8 levels/],
    [Array.from({ length: 101 }, (_, i) => `tag=${i}`).join(' or '), /at most 100 terms/],
    ['(visits=3 or tag=a)', /^at character 2, "visits=3 or tag=a\)": "visits=3": after "visits" comes >= or >/],
    ['()', /^at character 2, "\)": here comes not, \( or a term, such as country=DE/],
  ]
  for (const [where, message] of refused) {
    assert.throws(
      () => parseWhere(where),
      (error) => error instanceof InputError && (message.test(error.message) || assert.fail(error.message)),
      where,
    )
  }
  assert.doesNotThrow(() => parseWhere(deep(8)))
  assert.throws(() => parseCondition('tag=a or days=7'), /about the whole filter/)
  assert.throws(() => parseCondition('tag=a or heat>1, tag=b'), /^InputError: at character 16/)
  assert.throws(() => assertFilter({ condition: 'tag=a or heat>=101' }), /must be 0 to 100/)
  assert.throws(() => assertFilter({ condition: 'tag=a or new_since=2026-02-30' }), /must be a date/)
  assert.throws(() => assertFilter({ condition: 'tag=a or' }), /^InputError/)
})

test('a condition is drawn as groups where it has their form', () => {
  const groups = (text: string) =>
    groupsOf(parseCondition(text))?.map(
      ({ kind, terms }) => `${kind} ${terms.map(({ key, operator, value }) => key + operator + value).join(' ')}`,
    )
  for (const [text, drawn] of [
    ['country=DE', ['all country=DE']],
    ['country=DE or heat>=50', ['any country=DE heat>=50']],
    ['country=DE or country=AT', ['any country=DE country=AT']],
    ['not (tag=a or heat>5)', ['none tag=a heat>=6']],
    ['tag!=a and tag!=b and heat>1', ['all heat>=2', 'none tag=a tag=b']],
    [
      '(tag=a or owner=b) and not heat>5 and page~x and visits>1',
      [...['all page~x visits>=2', 'any tag=a owner=b', 'none heat>=6']],
    ],
    ['tag=a or (owner=b and heat>1)', undefined],
    ['not (owner=b and heat>1)', undefined],
    ['heat>1 or (tag!=a and tag!=b)', undefined],
  ] as const) {
    assert.deepEqual(groups(text), drawn, text)
    const all = groupsOf(parseCondition(text))
    if (all !== undefined) assert.deepEqual(groups(conditionText(all)), drawn, conditionText(all))
  }
})

test('the text of any condition reads as the same condition', () => {
  let seed = 11
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const words = ['a', 'and', 'or b', 'x and', ' y', 'not', '(z)', '"', 'a, b', 'or', 'c and tag=d', '-']
  const leaf = (): Condition => {
    const values = [...new Set(Array.from({ length: 1 + random(3) }, () => words[random(words.length)]!))]
    const leaves: CompanyFilter[] = [
      ...[{ tag: values }, { tag_not: values }, { owner: values }, { page_contains: values.slice(0, 1) }],
      ...[{ search: values[0]! }, { heat_min: random(100) }, { visits_max: random(9) }, { new_days: 1 + random(9) }],
    ]
    return { is: leaves[random(leaves.length)]! }
  }
  const make = (depth: number): Condition => {
    const parts = () => Array.from({ length: 1 + random(3) }, () => make(depth - 1))
    if (depth === 0) return leaf()
    return [leaf, () => allOf(parts()), () => anyOf(parts()), () => notOf(make(depth - 1))][random(4)]!()
  }
  for (let i = 0; i < 1_000; i++) {
    const condition = make(3)
    const text = formatCondition(condition)
    assert.equal(formatCondition(parseCondition(text)), text)
    assert.deepEqual(parseCondition(text), condition, text)
    const filter = parseWhere(`days=30,(${text})`)
    assert.deepEqual(parseWhere(formatWhere(filter)), filter, text)
  }
})

test('an expression of any form is read in time that grows with its length', () => {
  const long = ['(', 'not ', 'tag=a or ', ' ', 'tag=a' + ' '.repeat(40), '"', 'and country=', ' or ('].map((part) =>
    part.repeat(Math.floor(7_900 / part.length)),
  )
  const startedMs = performance.now()
  for (const text of long) {
    try {
      parseWhere(`(${text}`)
    } catch (error) {
      assert.ok(error instanceof InputError)
    }
    try {
      parseWhere(`tag=${text}`)
    } catch (error) {
      assert.ok(error instanceof InputError)
    }
  }
  assert.ok(performance.now() - startedMs < 2_000)
})
