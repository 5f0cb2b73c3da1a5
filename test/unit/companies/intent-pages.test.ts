import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { INTENT_PAGES } from '../../../schemas/dashboard/intent-pages.ts'
import { changedIntentPages, DEFAULT_INTENT_PAGES } from '../../../src/companies/intent-pages.ts'

test('the default intent pages are those that heat looks for', () => {
  const sql = readFileSync(new URL('../../../schemas/clickhouse/views/heat.sql', import.meta.url), 'utf8')
  const list = INTENT_PAGES.defaults.map((page) => page.replaceAll('-', '[^\\\\pL\\\\pN]+')).join('|')
  assert.ok(sql.includes(`'(?i)(^|[^\\\\pL\\\\pN])(${list})([^\\\\pL\\\\pN]|$)'`), list)
})

test('an intent page is a path, however it was written, and counts once', () => {
  const read = (...pages: string[]) => changedIntentPages(DEFAULT_INTENT_PAGES, { pages }).pages
  assert.deepEqual(read('https://shop.example/Book%20a-Demo', 'shop.example/pricing', '/preis/', ' demo ', '100%'), [
    ...['/Book a-Demo', '/pricing', '/preis/', 'demo', '100%'],
  ])
  assert.deepEqual(read('/pricing', 'PRICING', 'pricing/'), ['/pricing'])
  assert.deepEqual(read('index.html', 'v1.2'), ['index.html', 'v1.2'])
  for (const page of ['', '/', '---', 'https://shop.example', '/a?b', '/a#b', '/a*', 'a\nb', '%0Aa']) {
    assert.throws(() => read(page), { name: 'InputError' }, page)
  }
})

test('the default intent pages in any order are the default ones', () => {
  assert.deepEqual(changedIntentPages(DEFAULT_INTENT_PAGES, { pages: [] }), DEFAULT_INTENT_PAGES)
  const shuffled = [...INTENT_PAGES.defaults].reverse()
  const less = changedIntentPages(DEFAULT_INTENT_PAGES, { pages: shuffled.slice(1) })
  assert.equal(less.is_default, false)
  assert.deepEqual(changedIntentPages(less, { add: shuffled.slice(0, 1) }), DEFAULT_INTENT_PAGES)
})
