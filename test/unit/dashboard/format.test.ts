import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { percent, time } from '../../../src/dashboard/pages/lib/format.ts'
import { counted } from '../../../src/dashboard/pages/texts/en/counted.ts'

test('one uses the singular', () => {
  assert.equal(counted(1, 'event'), '1 event')
  assert.equal(counted(0, 'event'), '0 events')
  assert.equal(counted(1234, 'company', 'companies'), '1,234 companies')
})

test('a moment of another year names it', () => {
  const now = new Date('2026-11-22T12:00:00Z')
  assert.match(time('2025-11-20T12:00:00Z', now), /2025/)
  assert.doesNotMatch(time('2026-11-20T12:00:00Z', now), /2026/)
})

test('a small share is not none', () => {
  assert.equal(percent(0), '0%')
  assert.equal(percent(0.0001), '<0.1%')
  assert.equal(percent(0.0005), '0.1%')
  assert.equal(percent(0.123), '12.3%')
})

test('every number, date and name of a country is written in the language of the texts', () => {
  const root = new URL('../../../src/dashboard/pages/', import.meta.url)
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  assert.ok(files.length > 100)
  for (const file of files) {
    const source = readFileSync(new URL(file, root), 'utf8')
    for (const [call] of source.matchAll(/\bIntl\.\w+\(.{0,10}|\.toLocale\w*\(.{0,10}/g))
      assert.match(call, /\(LOCALE\b/, file)
  }
})
