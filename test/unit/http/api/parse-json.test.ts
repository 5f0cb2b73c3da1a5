import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpError } from '../../../../src/http/engine/http-error.ts'
import { parseJson } from '../../../../src/http/route/parse-json.ts'

const refused = (status: number, detail: RegExp) => (error: unknown) =>
  error instanceof HttpError && error.status === status && detail.test(error.message)

test('invalid JSON is 400 and says where; hostile JSON is only data', () => {
  assert.throws(() => parseJson(''), refused(400, /empty/))
  assert.throws(() => parseJson(' \n\t '), refused(400, /empty/))
  assert.throws(() => parseJson('{"a":}'), refused(400, /position 5/))
  parseJson('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

test('JSON nested too deep is refused before it is parsed', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const tooDeep = refused(422, /^the body is nested more than 128 levels deep$/)
  parseJson(nested(128))
  // Brackets in strings do not count as levels.
  parseJson(`["${'[\\"{'.repeat(1_000)}"]`)
  parseJson(`[${'[],'.repeat(1_000)}{}]`)
  for (const text of [nested(129), nested(400_000), `${'{"a":'.repeat(129)}1`, '['.repeat(1_000_000)]) {
    assert.throws(() => parseJson(text), tooDeep)
  }
})
