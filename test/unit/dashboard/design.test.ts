import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { hueOf, initialsOf } from '../../../src/dashboard/pages/design/initials.ts'
import { daysOfRange } from '../../../src/dashboard/pages/design/ranges.ts'
import { sharedScale } from '../../../src/dashboard/pages/design/shared-scale.ts'

/** Not made of parts yet. */
const OLD = ['components/company-table.tsx', 'components/filters.tsx', 'components/scroll.tsx', 'pages/companies.tsx']
const PAGES = fileURLToPath(new URL('../../../src/dashboard/pages', import.meta.url))

test('a file with classes has its CSS beside it: pages are made of parts', () => {
  const files = readdirSync(PAGES, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.tsx') && !OLD.some((start) => file.startsWith(start)),
  )
  const without = files.filter(
    (file) =>
      /\bclass=/.test(readFileSync(join(PAGES, file), 'utf8')) && !existsSync(join(PAGES, file.replace(/tsx$/, 'css'))),
  )
  assert.deepEqual(without, [])
})

test('initials are of the first and the last word, without small words, and a colour belongs to an id', () => {
  const initials = {
    ...{
      'Deutsche Bank': 'DB',
      apple: 'AP',
      Ørsted: 'ØR',
      '3M': '3M',
      '株式会社 日立': '株日',
      '  ': '?',
      '"A" & B': 'AB',
    },
    ...{ 'University of Wyoming': 'UW', 'University of North Texas': 'UT', 'Government of Namibia': 'GN' },
    ...{ 'The Home Depot': 'HD', 'Banco de la Republica': 'BR', 'De Beers': 'BE', 'The The': 'TT' },
  }
  assert.deepEqual(Object.fromEntries(Object.keys(initials).map((name) => [name, initialsOf(name)])), initials)
  assert.equal(hueOf('apple.com'), hueOf('apple.com'))
  const hues = new Set(Array.from({ length: 200 }, (_, i) => hueOf(`company-${i}.com`)))
  assert.equal(hues.size, 12)
})

test('one busy company does not flatten the bars of the others in a list', () => {
  const quiet = Array.from({ length: 19 }, (_, i) => [0, 1, i + 1])
  assert.equal(sharedScale([...quiet, [9_000, 0, 2]]), 18)
  assert.equal(sharedScale([[3, 1], [9, 2], undefined]), 9, 'a short list shows its highest day')
  assert.equal(sharedScale([[0, 0], ...quiet.slice(0, 2)]), 2, 'companies without visits have no part in it')
  assert.equal(sharedScale([undefined, []]), 1)
})

test('spans of days are UTC, and weeks begin on Monday', () => {
  // A Sunday.
  const nowMs = Date.parse('2026-03-01T23:59:59Z')
  assert.deepEqual(daysOfRange('today', nowMs), { from: '2026-03-01', to: '2026-03-01' })
  assert.deepEqual(daysOfRange('7d', nowMs), { from: '2026-02-23', to: '2026-03-01' })
  assert.deepEqual(daysOfRange('30d', nowMs), { from: '2026-01-31', to: '2026-03-01' })
  assert.deepEqual(daysOfRange('week', nowMs), { from: '2026-02-23', to: '2026-03-01' })
  assert.deepEqual(daysOfRange('last-week', nowMs), { from: '2026-02-16', to: '2026-02-22' })
  assert.deepEqual(daysOfRange('month', nowMs), { from: '2026-03-01', to: '2026-03-01' })
  assert.deepEqual(daysOfRange('week', nowMs + 1_000), { from: '2026-03-02', to: '2026-03-02' })
})
