import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIT_LIMITS, type FitLine } from '../../../schemas/dashboard/fit.ts'
import { UNCORRECTED } from '../../../src/companies/corrected.ts'
import { bestFirst, fitColumns, fitLinesOf, formatFit } from '../../../src/companies/fit.ts'
import { formatWhere } from '../../../src/companies/where.ts'

const good = (where: string): FitLine => ({ is: 'good', where })
const poor = (where: string): FitLine => ({ is: 'poor', where })

test('lines are kept in one spelling, once each, and read back in words', () => {
  const fit = formatFit([
    good('country="DE",country=at'),
    good('industry = Software'),
    good('industry=Software'),
    good('own.Employees>=50'),
    good('own.plan=Pro,own.plan=-'),
    poor('classification=education, tag!=key account'),
    poor('(status=competitor or owner=-) and not tag=friend'),
  ])
  assert.equal(
    fit,
    [
      'good country=DE,country=AT',
      'good industry=Software',
      'good own.employees>=50',
      'good own.plan=Pro,own.plan=-',
      'poor classification=education,tag!=key account',
      'poor tag!=friend,(status=competitor or owner=-)',
    ].join('\n'),
  )
  assert.deepEqual(
    fitLinesOf({ fit }).map(({ label }) => label),
    [
      'Germany or Austria',
      'Software',
      'employees at least 50',
      'plan Pro or no plan',
      'education, not key account',
      'not friend, status=competitor or owner=-',
    ],
  )
  assert.equal(formatFit(fitLinesOf({ fit })), fit, 'what is kept is kept again')
  assert.equal(formatFit([]), '')
})

for (const [what, lines, message] of [
  ['no condition', [good('')], 'sign 1: name a condition, such as industry=Software'],
  [
    'what a company did',
    [good('industry=Banks'), good('heat>=50')],
    /^sign 2: heat_min: fit is about what a company is/,
  ],
  ['what a company did, inside', [poor('(tag=a or page~/pricing)')], /^sign 1: page_contains: fit is about/],
  ['days', [good('tag=a,days=7')], /^sign 1: days: fit is about/],
  ['fit itself', [good('fit=good')], /^sign 1: fit: fit is about/],
  ['an unknown key', [good('colour=red')], /^sign 1: "colour=red": there is no filter "colour"/],
  ['a line feed', [good('tag="a\nb"')], 'sign 1: write it in one line'],
  [
    'too many terms',
    [good(Array.from({ length: FIT_LIMITS.terms + 1 }, (_, i) => `tag=${i}`).join())],
    `all signs together have at most ${FIT_LIMITS.terms} terms`,
  ],
] as const) {
  test(`signs with ${what} are refused`, () => {
    assert.throws(() => formatFit(lines), { name: 'InputError', message })
  })
}

test('a stored line that cannot be read is left out: it may be of a later version, or of a foreign backup', () => {
  const fit = ['good industry=Software', 'great industry=Banks', 'good colour=red', 'good', '', 'poor heat>=50'].join(
    '\n',
  )
  assert.deepEqual(
    fitLinesOf({ fit }).map(({ where }) => where),
    ['industry=Software'],
  )
  assert.deepEqual(fitLinesOf({}), [])
})

test('values are literals of the query, whatever they contain', () => {
  const value = `O'Neil \\ {tenant:String} ') OR 1 --`
  const sql = fitColumns({ ...UNCORRECTED, fit: `good ${formatWhere({ industry: [value] })}` })
  assert.ok(sql.includes(String.raw`['O\'Neil \\ {tenant:String} \') OR 1 --']`), sql)
})

test('the best fits come first, and companies without one last, in their order', () => {
  const order = ['', 'poor', 'good1', 'ok', 'good2']
  assert.deepEqual(
    bestFirst(order, (row) => row.replace(/\d/, '')),
    ['good1', 'good2', 'ok', 'poor', ''],
  )
})
