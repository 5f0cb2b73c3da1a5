import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import { BUILD_SQL, CHECK, HAS_PAGE } from '../../../src/days/day-tables.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

function filesOf(folder: string, ending: string): { readonly name: string; readonly text: string }[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => ({ name: `${folder}/${name}`, text: readFileSync(join(ROOT, folder, name), 'utf8') }))
}

/** The texts that define an object: of a new database, and of a migration. */
function definitionsOf(pattern: RegExp): string[] {
  const found = filesOf('schemas/clickhouse', '.sql').flatMap(({ text }) => text.match(pattern) ?? [])
  assert.ok(found.length > 0, String(pattern))
  return found
}

/** Every hash of several columns that has the time of an event. */
const HASH = /\w+Hash64\([^()']*\btimestamp\b[^()]*\)/g

test('the hash of a day is the same text in the projection, in the views and in the builder', () => {
  const found = [...filesOf('schemas/clickhouse', '.sql'), ...filesOf('src', '.ts')].flatMap(({ name, text }) =>
    [...text.matchAll(HASH)].map(([hash]) => ({ name, hash })),
  )
  assert.deepEqual(
    found.filter(({ hash }) => hash !== CHECK),
    [],
  )
  // Twice in the projection, once in each view, once in TypeScript.
  assert.ok(found.length >= 5)
  const times = (text: string, part: string) => text.split(part).length - 1
  for (const text of definitionsOf(/PROJECTION (?:IF NOT EXISTS )?day_checks\b[^;]*?GROUP BY/g))
    assert.deepEqual([times(text, CHECK), times(text, HAS_PAGE)], [2, 2], text)
  const views = [
    [/VIEW (?:IF NOT EXISTS )?(?:zone_)?day_builds\b.*?;\n/gs, 0],
    [/VIEW (?:IF NOT EXISTS )?valid_(?:zone_)?page_days\b.*?;\n/gs, 2],
  ] as const
  for (const [view, hasPage] of views)
    for (const text of definitionsOf(view))
      assert.deepEqual([times(text, CHECK), times(text, HAS_PAGE)], [1, hasPage], text)
})

test('a build reads no column of events that its hash does not cover', () => {
  const words = (text: string) => new Set(text.match(/\w+/g))
  const covered = words(CHECK)
  /** Computed from another column. */
  const computed = { company: 'company_id', visitor: 'ip', page: 'page' }
  const names = [...ROW_COLUMNS, ...Object.keys(computed), ...['utm_source', 'utm_campaign', 'url', 'referrer']]
  for (const [table, query] of Object.entries(BUILD_SQL)) {
    const used = [...words(query.slice(query.indexOf('SELECT')))].filter((word) => names.includes(word))
    assert.ok(used.includes('visitor'), table)
    const uncovered = used
      .filter((name) => name !== 'tenant_id')
      .filter((name) => !covered.has(computed[name as keyof typeof computed] ?? name))
    assert.deepEqual(uncovered, [], table)
  }
})
