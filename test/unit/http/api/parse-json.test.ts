import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '../../../../src/http/api/parse-json.ts'
import { HttpError } from '../../../../src/http/engine/http-error.ts'

const refused = (status: number, detail: RegExp) => (error: unknown) =>
  error instanceof HttpError && error.status === status && detail.test(error.message)

test('what is not JSON is 400 and says where; hostile JSON is only data', () => {
  assert.throws(() => parseJson(''), refused(400, /empty/))
  assert.throws(() => parseJson(' \n\t '), refused(400, /empty/))
  assert.throws(() => parseJson('{"a":}'), refused(400, /position 5/))
  assert.throws(() => parseJson('['.repeat(200_000)), refused(400, /ends too early/))
  parseJson(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
  parseJson('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})
