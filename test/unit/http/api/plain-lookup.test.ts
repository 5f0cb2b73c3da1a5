import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LookupRequest, LookupResult } from '../../../../schemas/api/lookup.ts'
import { mergeRequest, plainRequest } from '../../../../src/http/api/lookup-request.ts'
import { quotaJson, quotaObject } from '../../../../src/http/api/quota.ts'
import { parseQuery } from '../../../../src/http/route/query.ts'
import { resultForm, resultJson } from '../../../../src/lookup/result.ts'
import { parseAddress } from '../../../../src/pipeline/event/address.ts'
import { compileValidator, NO_ADDRESS } from '../../../../src/pipeline/event/validator.ts'
import { ACME, lookupOf } from '../../../support/lookups.ts'

/** Random, but the same in every run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const PIECES = [
  '{',
  '}',
  '"',
  '"ip"',
  ':',
  ': ',
  ',',
  ' ',
  '17.0.0.1',
  '::1',
  'AB',
  'g',
  '\\u0031',
  '\n',
  '\t',
  '0',
  'é',
  '[',
  '"fields":[]',
]

test('a request on the fast path equals the one from the general path', () => {
  const validate = compileValidator(LookupRequest)
  const random = randomOf(1)
  const pick = () => PIECES[random(PIECES.length)]!
  const texts = ['{"ip":"17.0.0.1"}', '{"ip": "2001:DB8::1"}', '{"ip":"x"}', '{"ip":""}', '{"ip":"1","ip":"2"}', '']
  for (let i = 0; i < 20_000; i++) {
    const bare = Array.from({ length: 1 + random(6) }, pick).join('')
    texts.push(
      bare,
      `{"ip":"${bare}"}`,
      `{"ip": "${bare}"}`,
      `{"ip":"17.0.0.${random(300)}"}${random(4) === 0 ? bare : ''}`,
    )
  }
  let plain = 0
  for (const text of texts) {
    const request = plainRequest(text, '')
    if (request === undefined) continue
    plain++
    assert.deepEqual(request, mergeRequest(text, parseQuery('')), text)
    // The caller of the fast path checks the address itself.
    const isAddress = parseAddress(request.ip) !== undefined
    assert.deepEqual(validate(request), isAddress ? [] : [{ path: 'ip', message: NO_ADDRESS }], text)
  }
  assert.ok(plain > 10_000, `${plain} plain ones`)
  assert.equal(plainRequest('{"ip":"17.0.0.1"}', 'fields=asn'), undefined, 'the query has a say')
})

test('an answer built from parts equals that of JSON.stringify', () => {
  const random = randomOf(2)
  const validate = compileValidator(LookupResult)
  for (let i = 0; i < 1_000; i++) {
    const limit = random(1_000)
    const used = random(1_200)
    const reset = { resetAt: '2026-11-22T00:00:00+00:00', windowSeconds: 86_400, resetSeconds: 1, retryAfterSeconds: 0 }
    const quota = { name: 'quota', allowed: true, limit, left: limit - used, used, ...reset }
    const group = () => random(65_536).toString(16)
    const ip = i % 2 === 0 ? `${random(256)}.0.${random(256)}.1` : `${group()}:${group().toUpperCase()}::${group()}`
    assert.notEqual(parseAddress(ip), undefined)
    const form = resultForm('acme', { quality_min: random(100) })
    const json = resultJson(ip, lookupOf(ip, ACME, random(100)), form, `,"quota":${quotaJson(quota)}`)
    const answer = JSON.parse(json)
    assert.equal(json, JSON.stringify(answer))
    assert.equal(answer.ip, ip)
    assert.deepEqual(answer.quota, quotaObject(quota))
    const { quota: _, ...result } = answer
    assert.deepEqual(validate(result), [])
    assert.equal(JSON.stringify(result), resultJson(ip, lookupOf(ip, ACME, answer.quality), form))
  }
})
