import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTime } from '../../../../src/pipeline/sources/batch/files/timestamps.ts'

test('common timestamps become RFC 3339, and RFC 3339 stays unchanged', () => {
  const EIGHT = '2026-11-22T08:00:00.000Z'
  const read: [text: string, time: string][] = [
    ['2026-11-22T08:00:00+01:00', '2026-11-22T08:00:00+01:00'],
    ['2026-11-22 08:00:00', EIGHT],
    ['2026-11-22 08:00', EIGHT],
    ['2026-11-22T08:00:00', EIGHT],
    ['2026-11-22 08:00:00.25', '2026-11-22T08:00:00.250Z'],
    ['2026-11-22 08:00:00,250', '2026-11-22T08:00:00.250Z'],
    ['2026-11-22 08:00:00 UTC', EIGHT],
    ['2026-11-22 10:00:00+02', EIGHT],
    ['2026-11-22 10:00:00 +0200', EIGHT],
    ['2026-11-22', '2026-11-22T00:00:00.000Z'],
    ['2026/11/22 8:00', EIGHT],
    ['1795334400', EIGHT],
    ['1795334400.5', '2026-11-22T08:00:00.500Z'],
    ['1795334400000', EIGHT],
    ['1795334400000000', EIGHT],
    ['1795334400000000000', EIGHT],
    ['22/Nov/2026:08:00:00 +0000', EIGHT],
    ['Sun, 22 Nov 2026 08:00:00 GMT', EIGHT],
    ['22 November 2026', '2026-11-22T00:00:00.000Z'],
    ['Nov 22, 2026 8:00 AM', EIGHT],
    ['Nov 22, 2026, 8:00:00 PM', '2026-11-22T20:00:00.000Z'],
    ['11/22/2026 12:30 AM', '2026-11-22T00:30:00.000Z'],
    ['22/11/2026 08:00', EIGHT],
    ['02/02/2026', '2026-02-02T00:00:00.000Z'],
    ['01.02.2026', '2026-02-01T00:00:00.000Z'],
  ]
  for (const [text, time] of read) assert.deepEqual(readTime(text, undefined), { time }, text)
})

test('an ambiguous date is refused, unless the order is given', () => {
  for (const text of ['01/02/2026', '1-2-2026 08:00']) {
    assert.deepEqual(readTime(text, undefined), { problem: 'ambiguous' }, text)
  }
  assert.deepEqual(readTime('01/02/2026', 'dmy'), { time: '2026-02-01T00:00:00.000Z' })
  assert.deepEqual(readTime('01/02/2026', 'mdy'), { time: '2026-01-02T00:00:00.000Z' })
})

test('epoch times are read digit by digit, in every unit', () => {
  const AT = (ms: string) => `2026-11-22T08:00:00.${ms}Z`
  const read: [text: string, time: string][] = [
    ['1795334400.008', AT('008')],
    ['1795334400.0089999', AT('008')],
    ['1795334400.1', AT('100')],
    ['1795334400008', AT('008')],
    ['1795334400008.999', AT('008')],
    ['1795334400008000', AT('008')],
    ['1795334400008999', AT('008')],
    ['1795334400008000000', AT('008')],
    ['1795334400008999999', AT('008')],
    ['1795334400008999999.9', AT('008')],
    ['1.795334400008e9', AT('008')],
    ['1.795334400008E+18', AT('008')],
    ['17953344000080e-1', AT('008')],
    ['1795334400e3', AT('000')],
    ['-1795334400.008', '1913-02-09T15:59:59.992Z'],
    ['-1795334400008', '1913-02-09T15:59:59.992Z'],
    // Digits beyond milliseconds are rounded down, the same as for times after 1970.
    ['-1795334400008001', '1913-02-09T15:59:59.991Z'],
    ['-1795334400008000000', '1913-02-09T15:59:59.992Z'],
    ['-1.795334400008e9', '1913-02-09T15:59:59.992Z'],
  ]
  for (const [text, time] of read) assert.deepEqual(readTime(text, undefined), { time }, text)
  for (let ms = 0; ms < 1_000; ms++) {
    const fraction = String(ms).padStart(3, '0')
    const forms = [`1795334400.${fraction}`, `1795334400${fraction}`, `1795334400${fraction}000`]
    for (const text of [...forms, `1795334400${fraction}000000`, `1.795334400${fraction}e9`]) {
      assert.deepEqual(readTime(text, undefined), { time: AT(fraction) }, text)
    }
  }
})

test('an epoch time rounded by a spreadsheet is refused', () => {
  for (const text of ['1.79533E+12', '1.8e9', '179533e4']) {
    assert.deepEqual(readTime(text, undefined), { problem: 'rounded' }, text)
  }
})

test('text that is no time is refused', () => {
  const refused = ['soon', '2026-13-01', '2026-02-30 08:00', '25:00', '12345', '20261122', '22/13/2026', '1/2/26']
  for (const text of [
    ...refused,
    '2026-11-22 08:00 EST',
    '2026-11-22 13:00 PM',
    '99999999999999999999',
    '',
    '1e999',
    '1795334400e',
    '1.7953344000e99',
  ]) {
    assert.deepEqual(readTime(text, undefined), { problem: 'unknown' }, text)
  }
})
