import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageAt } from '../../../src/dashboard/pages/lib/page-at.ts'

const PAGES = ['/', '/t/:tenant/companies', '/t/:tenant/companies/of', '/things/:id'].map((path) => ({ path }))

test('a path leads to its page, with its parameters decoded', () => {
  for (const id of ['as:64500', 'a/b', '100%', '%41', '%2F', 'a b', 'ü€', 'x?y#z&+=', '.x']) {
    const found = pageAt(PAGES, `/things/${encodeURIComponent(id)}`)
    assert.deepEqual([found?.entry.path, found?.parameters.id], ['/things/:id', id])
    assert.equal(pageAt(PAGES, new URL(`/things/${encodeURIComponent(id)}`, 'http://host').pathname)?.parameters.id, id)
  }
  assert.deepEqual(pageAt(PAGES, '/'), { entry: PAGES[0], parameters: {} })
  assert.deepEqual(pageAt(PAGES, '/t/acme/companies/'), { entry: PAGES[1], parameters: { tenant: 'acme' } })
  assert.equal(pageAt(PAGES, '/t/acme/companies/of')?.entry, PAGES[2])
})

test('an unknown or undecodable path leads nowhere', () => {
  for (const path of ['/t', '/t//companies', '/t/acme/other', '/things/%', '/things/a/b', '/things/']) {
    assert.equal(pageAt(PAGES, path), undefined, path)
  }
})
