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

test('an unknown field is named, with its place and the fields that are allowed', () => {
  const Inner = Type.Object(
    { ip: Type.String(), 'a/b~c': Type.Optional(Type.Integer()) },
    { additionalProperties: false },
  )
  const Empty = Type.Object({}, { additionalProperties: false })
  const strict = compileValidator(
    Type.Object({ list: Type.Array(Inner), empty: Type.Optional(Empty) }, { additionalProperties: false }),
  )
  const errorsOf = (value: unknown) => [...strict(value)].sort((one, other) => (one.path < other.path ? -1 : 1))
  assert.deepEqual(errorsOf({ list: [{ ip: '' }, { ip: '', colour: 1, 'a/b~c': 2 }], hue: 3, empty: { x: 1 } }), [
    { path: 'empty.x', message: 'is unknown: no field is allowed here' },
    { path: 'hue', message: 'is unknown: allowed are list, empty' },
    { path: 'list[1].colour', message: 'is unknown: allowed are ip, a/b~c' },
  ])
  // The sender chooses the name: an answer must not repeat a megabyte of it, nor half a character.
  const [long] = strict({ list: [], [`a${'😀'.repeat(1_000)}`]: 1 })
  assert.equal(long!.path, `a${'😀'.repeat(49)}…`)
})
