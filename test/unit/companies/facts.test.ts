import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownConditions, ownKeyOf, readOwnTerm, readOwnValue, readStatus } from '../../../src/companies/facts.ts'

test('numbers are read as people and spreadsheets write them, and refused when they are none', () => {
  const cases: readonly (readonly [text: string, point: string | undefined, comma: string | undefined])[] = [
    ['1000000', '1000000', '1000000'],
    ['-12.50', '-12.5', '-12.5'],
    ['1,234', '1234', '1.234'],
    ['1.234', '1.234', '1234'],
    ['1,234,567.5', '1234567.5', '1234567.5'],
    ['1.234.567,5', '1234567.5', '1234567.5'],
    ['1.234.567', '1234567', '1234567'],
    ['1 234 567', '1234567', '1234567'],
    ["1'234", '1234', '1234'],
    ['€ 1,200.00', '1200', '1200'],
    ['1200 EUR', '1200', '1200'],
    ['USD 12', '12', '12'],
    ['45%', '45', '45'],
    ['0,5', '0.5', '0.5'],
    ['', '', ''],
    ['~500', undefined, undefined],
    ['11-50', undefined, undefined],
    ['1,2,3', undefined, undefined],
    ['1,23.456,7', undefined, undefined],
    ['1e9', undefined, undefined],
    ['9999999999999999', undefined, undefined],
    ['Infinity', undefined, undefined],
  ]
  const read = (text: string, decimal: '.' | ',') => {
    try {
      return readOwnValue('number', text, { decimal })
    } catch (error) {
      assert.match((error as Error).message, /^“.*” is (no number|too large)$/)
      return undefined
    }
  }
  for (const [text, point, comma] of cases) assert.deepEqual([read(text, '.'), read(text, ',')], [point, comma], text)
})

test('dates are read as in files of events, and kept as days', () => {
  assert.equal(readOwnValue('date', '2026-11-30'), '2026-11-30')
  assert.equal(readOwnValue('date', '30.11.2026'), '2026-11-30')
  assert.equal(readOwnValue('date', 'Nov 30, 2026'), '2026-11-30')
  assert.equal(readOwnValue('date', '01/02/2026', { dateOrder: 'dmy' }), '2026-02-01')
  assert.throws(() => readOwnValue('date', '01/02/2026'), { message: '“01/02/2026” may be day or month first' })
  assert.throws(() => readOwnValue('date', '2026'), { message: '“2026” is no date' })
  assert.throws(() => readOwnValue('text', 'a\u202eb'), /without hidden or control characters/)
})

test('keys of columns have letters and digits of any script, and a suggested status is in lower case', () => {
  const keys = ['Account manager (EU)', 'MRR', 'Größe', '売上', '!!', 'x'.repeat(60)].map(ownKeyOf)
  assert.deepEqual(keys, ['account_manager_eu', 'mrr', 'große', '売上', '', 'x'.repeat(40)])
  assert.deepEqual(['Customer', ' OPEN deal ', 'MQL', ''].map(readStatus), ['customer', 'open deal', 'MQL', ''])
})

test('conditions on own columns are read strictly, and each reads one column', () => {
  assert.deepEqual(readOwnTerm('Revenue >= 1000000'), { key: 'revenue', operator: '>=', value: '1000000' })
  for (const wrong of ['revenue', 'revenue>=much', 'renewal<2026-13-01', '=1', 'a b=1', 'a=', 'own.a=1']) {
    assert.throws(() => readOwnTerm(wrong), { name: 'InputError' }, wrong)
  }
  const { conditions, parameters } = ownConditions(['a=1.50', 'a=x', 'b>=5', 'c<2026-12-01', 'd!=-', 'e=-'])
  assert.equal(conditions.length, 5)
  assert.deepEqual(
    Object.values(parameters)
      .filter((value) => String(value).startsWith('own:'))
      .sort(),
    [...['own:a', 'own:b', 'own:c', 'own:d', 'own:e']],
  )
  assert.ok(Object.values(parameters).some((value) => JSON.stringify(value) === '["1.50","1.5","x"]'))
})
