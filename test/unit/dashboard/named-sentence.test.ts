import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NamedCounts, NOT_NAMED_CLASSES } from '../../../schemas/named.ts'
import { namedSentence, othersSentence } from '../../../src/dashboard/pages/lib/named-sentence.ts'

const NONE = Object.fromEntries(NOT_NAMED_CLASSES.map((name) => [name, 0])) as NamedCounts['others']

function counts(named: number, others: Partial<NamedCounts['others']> = {}): NamedCounts {
  const events = Object.values(others).reduce((sum, count) => sum + count, named)
  const share = events === 0 ? null : named / events
  return { from: '', to: '', events, named, share, others: { ...NONE, ...others } }
}

for (const [title, now, before, expected, others] of [
  [
    'more than before, the largest class first',
    counts(1_203, { bot: 400, access: 3_000, unknown: 207 }),
    counts(22, { access: 78 }),
    '1,203 of 4,810 page views and other events of the last 7 days could be named: 25%, +3 points on the previous 7 days.',
    'The others: 3,000 from access providers (home offices, mobiles), 400 from bots, 207 from networks whose company is not known.',
  ],
  [
    'fewer than before',
    counts(1, { rules: 1 }),
    counts(51, { vpn: 49 }),
    '1 of 2 page views and other events of the last 7 days could be named: 50%, −1 point on the previous 7 days.',
    'The others: 1 left out by your rules.',
  ],
  [
    'all, as before',
    counts(3),
    counts(9),
    '3 of 3 page views and other events of the last 7 days could be named: 100%, no change from the previous 7 days.',
  ],
  ['nothing before', counts(1), counts(0), '1 of 1 page view or other event of the last 7 days could be named: 100%.'],
  [
    'hardly any',
    counts(1, { access: 9_999 }),
    counts(0),
    '1 of 10,000 page views and other events of the last 7 days could be named: <0.1%.',
    'The others: 9,999 from access providers (home offices, mobiles).',
  ],
] as const) {
  test(`the sentence of Home about named events: ${title}`, () => {
    assert.deepEqual([namedSentence({ now, before }), othersSentence(now)], [expected, others])
  })
}
