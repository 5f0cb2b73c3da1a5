import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { hueOf, initialsOf } from '../../../src/dashboard/pages/design/initials.ts'
import { daysOfRange } from '../../../src/dashboard/pages/design/ranges.ts'

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

test('initials are of the first two words, and a colour belongs to an id', () => {
  assert.deepEqual(['Deutsche Bank AG', 'apple', 'Ørsted', '3M', '株式会社 日立', '  ', '"A" & B'].map(initialsOf), [
    'DB',
    'AP',
    'ØR',
    '3M',
    '株日',
    '?',
    'AB',
  ])
  assert.equal(hueOf('apple.com'), hueOf('apple.com'))
  const hues = new Set(Array.from({ length: 200 }, (_, i) => hueOf(`company-${i}.com`)))
  assert.equal(hues.size, 12)
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
