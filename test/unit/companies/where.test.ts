import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompanyFilter } from '../../../schemas/companies.ts'
import { formatWhere, parseTerms, parseWhere, WHERE_KEYS } from '../../../src/companies/where.ts'
import { InputError } from '../../../src/run/errors.ts'

test('a filter is read from its text', () => {
  assert.deepEqual(parseWhere('industry=Software,country=DE,visits>=3,days=30,page~/pricing'), {
    ...{ industry: ['Software'], country: ['DE'], visits_min: 3, days: 30, page_contains: ['/pricing'] },
  })
  assert.deepEqual(parseWhere(' country = de , country=US,country=DE, country!=- '), {
    country: ['DE', 'US'],
    country_not: ['-'],
  })
  assert.deepEqual(parseWhere('industry="Food, drink ""and"" more",search~a = b'), {
    industry: ['Food, drink "and" more'],
    search: 'a = b',
  })
  assert.deepEqual(parseWhere('visits>2,visits<9,events<=7,page_visits>1,page~/a,page~/b'), {
    ...{ visits_min: 3, visits_max: 8, events_max: 7, page_visits_min: 2, page_contains: ['/a', '/b'] },
  })
  assert.deepEqual(parseWhere('page=shop.example/pricing,page=/,page~docs'), {
    page: ['shop.example/pricing', '/'],
    page_contains: ['docs'],
  })
  assert.deepEqual(parseWhere('page_contains=docs'), { page_contains: ['docs'] })
  assert.deepEqual(parseWhere('heat>=50,heat<80'), { heat_min: 50, heat_max: 79 })
  assert.deepEqual(parseWhere('visits_min=3,country_not=US'), { visits_min: 3, country_not: ['US'] })
  assert.deepEqual(parseWhere('status=customer,own.Revenue >= 1000000,own.account_manager="Ada, B.",own.größe~x'), {
    ...{ status: ['customer'], own: ['revenue>=1000000', 'account_manager=Ada, B.', 'größe~x'] },
  })
  assert.deepEqual(parseWhere(''), {})
})

test('parameters of a query are terms whose commas are part of values', () => {
  assert.deepEqual(parseTerms(['own=revenue>=5', 'own.revenue<9']), { own: ['revenue>=5', 'revenue<9'] })
  const terms = ['industry=Food, drink', 'visits>=3', 'page~/pricing', 'events_min=2', 'campaign="a ""b"""']
  assert.deepEqual(parseTerms(terms), {
    ...{ industry: ['Food, drink'], visits_min: 3, page_contains: ['/pricing'], events_min: 2, campaign: ['a "b"'] },
  })
})

test('a wrong term is named, with a valid one', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['country=DE,colour=red', /^"colour=red": there is no filter "colour"\. Keys: search, industry/],
    ['constructor=1', /^"constructor=1": there is no filter/],
    ['country=DE,nonsense', /^"nonsense": must be KEY, an operator and a value/],
    ['country=DE,,days=1', /^"": must be KEY/],
    ['visits=3', /^"visits=3": after "visits" comes >= or > or <= or </],
    ['page>=/pricing', /^"page>=\/pricing": after "page" comes = or ~/],
    ['hidden=maybe', /^"hidden=maybe": must be without or only or with/],
    ['days=many', /^"days=many": must be a whole number/],
    ['days=1,days=2', /^"days=2": "days" is given twice/],
    ['industry=', /^"industry=": has no value; "-" is an unknown one/],
    ['industry="open', /ends with a quote/],
    ['industry="a"b', /ends with a quote/],
    ['own.revenue>=much', /^"own\.revenue>=much": after ">=" comes a number, such as 1000000, or a date/],
    ['own.revenue=', /^"own\.revenue=": has no value/],
    ['own=revenue', /^"own=revenue": must be the key of an own column, an operator and a value/],
    ['own.=1', /must be KEY, an operator and a value/],
    [`search=${'a'.repeat(501)}`, /more than 500 characters/],
  ]
  for (const [where, message] of refused) {
    assert.throws(
      () => parseWhere(where),
      (error) => error instanceof InputError && message.test(error.message),
      where,
    )
  }
})

test('the text of any filter reads as the same filter', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const PARTS = [
    'a',
    'ß',
    '"',
    '""',
    ',',
    ' ',
    '=',
    '>=',
    '~',
    '-',
    '\n',
    '\t',
    '\\',
    "'",
    '😀',
    'x=1,y',
    '\u00a0',
    '%',
  ]
  const word = () => Array.from({ length: 1 + random(5) }, () => PARTS[random(PARTS.length)]).join('')
  const words = () => [...new Set(Array.from({ length: 1 + random(3) }, word))]
  const make: Readonly<Record<string, () => unknown>> = {
    search: word,
    ...Object.fromEntries(
      [
        ...['industry', 'category', 'country', 'classification', 'tag', 'owner', 'status', 'source', 'campaign'],
        ...['first_channel', 'last_channel', 'first_campaign', 'last_campaign'],
      ].flatMap((name) => [
        [name, words],
        [`${name}_not`, words],
      ]),
    ),
    // Country codes are read in upper case.
    country: () => ['DE', 'US', '-', 'Ü, "'].slice(random(4)),
    country_not: () => ['FR'],
    own: () => [`a_1=${word().trim() || '-'}`, 'größe>=-1.5', `b~${word().trim() || 'x'}`],
    page: words,
    page_contains: words,
    ...Object.fromEntries(
      ['page_visits_min', 'visits_min', 'visits_max', 'events_min', 'events_max'].map((name) => [
        name,
        () => random(1_000_000),
      ]),
    ),
    hidden: () => ['without', 'only', 'with'][random(3)],
    days: () => 1 + random(400),
    from: () => '2026-01-01',
    to: () => '2026-02-01',
    new_days: () => 1 + random(400),
    new_since: () => '2026-03-15T11:59:59.5Z',
  }
  for (let i = 0; i < 2_000; i++) {
    const names = Object.keys(make).filter(() => random(3) === 0)
    const filter = Object.fromEntries(names.map((name) => [name, make[name]!()])) as CompanyFilter
    const text = formatWhere(filter)
    assert.deepEqual(parseWhere(text), filter, text)
  }
  assert.equal(formatWhere({ industry: [], search: '' }), '')
  assert.ok(WHERE_KEYS.includes('page'))
})
