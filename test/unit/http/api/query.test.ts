import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeRequest } from '../../../../src/http/api/lookup-request.ts'
import { HttpError } from '../../../../src/http/engine/http-error.ts'
import { parseQuery } from '../../../../src/http/route/query.ts'

test('a query is decoded like a form', () => {
  const values = (query: string) => Object.fromEntries(parseQuery(query))
  assert.deepEqual(values(''), {})
  assert.deepEqual(values('a=1&b=2&a=3'), { a: ['1', '3'], b: ['2'] })
  assert.deepEqual(values('&&a&b=&=c&'), { a: [''], b: [''], '': ['c'] })
  assert.deepEqual(values('a=b=c&%61.b=%C3%A4+%2B%26'), { a: ['b=c'], 'a.b': ['ä +&'] })
  assert.deepEqual(values('__proto__=1&constructor=2').constructor, ['2'])
  for (const broken of ['a=%', 'a=%4', '%gg=1', 'a=%ff', 'a=%ED%A0%80']) {
    assert.throws(
      () => parseQuery(broken),
      (error) => error instanceof HttpError && error.status === 400,
    )
  }
})

test('body and query make one request; the body wins field by field', () => {
  const merge = (body: string, query = '') => mergeRequest(body, parseQuery(query))
  assert.deepEqual(merge('{"ip":"a","x":1}'), { ip: 'a', x: 1 })
  assert.deepEqual(merge('', 'ip=a&unknown=b'), { ip: 'a' })
  assert.deepEqual(merge('{"ip":"b"}', 'ip=a&fields=c, d&fields=e,'), { ip: 'b', fields: ['c', 'd', 'e'] })
  assert.deepEqual(merge('{"providers":{"allow":["a"],"more":1}}', 'providers.allow=b&providers.deny=c'), {
    providers: { allow: ['a'], deny: ['c'] },
  })
  assert.deepEqual(merge('{"providers.deny":["a"]}'), { providers: { deny: ['a'] } })
  assert.deepEqual(merge('{"providers":7}', 'providers.deny=c'), { providers: 7 })
  assert.deepEqual(merge('{"fields":null}', 'fields=c'), { fields: null })
  for (const body of ['[]', '"a"', '7', 'null']) assert.deepEqual(merge(body, 'ip=a'), JSON.parse(body))
  const numbers = (query: string) => (merge('', query) as { deadline_ms: unknown }).deadline_ms
  for (const [text, value] of [
    ['5', 5],
    ['%2B5.5e1', 55],
    ['.5', 0.5],
    ['-1', -1],
    ['0x5', '0x5'],
    ['5ms', '5ms'],
    ['', ''],
    ['Infinity', 'Infinity'],
  ]) {
    assert.equal(numbers(`deadline_ms=${text}`), value)
  }
  assert.deepEqual(numbers('deadline_ms=5&deadline_ms=6'), ['5', '6'])
})
