import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { isTestKey } from '../../../schemas/key-text.ts'
import { barePrefix, displayPrefix, generateRawKey, hashKey, isRawKey, parsePrefix } from '../../../src/tenants/key.ts'

test('a raw key is ipid_ and 64 hexadecimal characters, and no two are equal', () => {
  const keys = new Set(Array.from({ length: 100 }, () => generateRawKey()))
  assert.equal(keys.size, 100)
  for (const key of keys) assert.match(key, /^ipid_[0-9a-f]{64}$/)
})

test('a key is stored as its SHA-256', () => {
  const key = generateRawKey()
  assert.equal(hashKey(key), createHash('sha256').update(key).digest('hex'))
})

test('only the exact shape is a raw key', () => {
  const key = generateRawKey()
  assert.equal(isRawKey(key), true)
  const others = ['', 'ipid_', barePrefix(key), `${key}0`, key.slice(0, -1), key.replace('ipid_', 'ipie_')]
  for (const other of [...others, key.toUpperCase(), ` ${key}`, `${key.slice(0, -1)}g`, `${key.slice(0, -1)}\n`]) {
    assert.equal(isRawKey(other), false, JSON.stringify(other))
  }
})

test('a display prefix is 12 characters and bullets, is no key, and is read without bullets too', () => {
  const key = generateRawKey()
  const shown = displayPrefix(barePrefix(key))
  assert.match(shown, /^ipid_[0-9a-f]{7}•+$/)
  assert.equal(shown.length, displayPrefix(barePrefix(generateRawKey())).length)
  assert.equal(isRawKey(shown), false)
  assert.equal(parsePrefix(shown), key.slice(0, 12))
  assert.equal(parsePrefix(key.slice(0, 12)), key.slice(0, 12))
  assert.equal(parsePrefix(key), undefined)
  assert.equal(parsePrefix('ipid_12'), undefined)
})

test('a test key says so in its text and in its prefix, which is as long as needed to tell two apart', () => {
  const key = generateRawKey(true)
  assert.match(key, /^ipid_test_[0-9a-f]{64}$/)
  assert.deepEqual([isRawKey(key), isTestKey(key), isTestKey(generateRawKey())], [true, true, false])
  const bare = barePrefix(key)
  assert.equal(bare, key.slice(0, 17))
  assert.deepEqual(
    [isTestKey(bare), isTestKey(displayPrefix(bare)), parsePrefix(displayPrefix(bare))],
    [true, true, bare],
  )
  for (const other of [
    bare,
    key.slice(0, -1),
    `${key}0`,
    key.replace('test_', 'tesT_'),
    key.replace('test_', 'test_test_'),
  ]) {
    assert.equal(isRawKey(other), false, other)
  }
})
