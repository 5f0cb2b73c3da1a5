import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { HttpError } from '../../../../src/http/engine/http-error.ts'
import { assertSchema } from '../../../../src/http/route/schema.ts'
import { compileValidator } from '../../../../src/pipeline/event/validator.ts'

const validate = compileValidator(Type.Object({ a: Type.String(), b: Type.Integer() }))

function refusalOf(value: unknown): HttpError | undefined {
  try {
    assertSchema(validate, value)
    return undefined
  } catch (error) {
    assert.ok(error instanceof HttpError)
    return error
  }
}

test('a schema mismatch is 422 with a list of errors; its detail names the first', () => {
  assert.equal(refusalOf({ a: '', b: 1 }), undefined)
  const refusal = refusalOf({ a: 1 })!
  assert.equal(refusal.status, 422)
  assert.deepEqual(
    [...refusal.errors!].sort((one, other) => one.path.localeCompare(other.path)),
    [
      { path: 'a', message: 'must be a string' },
      { path: 'b', message: 'is required' },
    ],
  )
  const first = refusal.errors![0]!
  assert.equal(refusal.message, `${first.path} ${first.message}`)
  assert.equal(refusalOf([])!.message, 'the body must be an object')
})
