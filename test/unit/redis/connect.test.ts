import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { connectRedis } from '../../../src/redis/connect.ts'

test('a process that speaks to Redis looks up methods of strings as fast as any other', () => {
  setFlagsFromString('--allow-natives-syntax')
  const isFast = new Function('object', 'return %HasFastProperties(object)')
  connectRedis('redis://127.0.0.1:1', { name: 'test', kind: 'request' }).disconnect()
  assert.equal(isFast(String.prototype), true)
})
