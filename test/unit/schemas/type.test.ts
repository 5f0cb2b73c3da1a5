import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Type as TypeBox } from 'typebox'
import { Value } from 'typebox/value'
import { Type } from '../../../schemas/type.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** A schema of every sort, with and without options. */
function schemas(type: typeof Type) {
  const options = { description: 'd', minimum: 1 }
  const plain = [type.Boolean, type.Integer, type.Null, type.Number, type.String, type.Unknown]
  const leaves = plain.flatMap((make) => [make(), make(options)])
  const part = type.Object({ a: type.String(), b: type.Optional(type.Integer(options)) }, options)
  return [
    ...leaves,
    ...leaves.map((leaf) => type.Array(leaf, options)),
    ...['x', 1, true].map((value) => type.Literal(value, options)),
    type.Enum(['x', 'y'], options),
    type.Union([type.String(), type.Null()], options),
    type.Object({}),
    type.Object({ only: type.Optional(type.Array(part)) }),
    type.Object({ ...part.properties, c: type.Unsafe<string>({ type: 'string', format: 'ipv4' }) }),
    type.Object({ d: type.Optional(type.Unsafe<object>(part)) }),
  ]
}

test('every builder makes what TypeBox makes, which knows it as its own', () => {
  const [ours, theirs] = [schemas(Type), schemas(TypeBox)]
  for (const [i, schema] of theirs.entries()) {
    assert.deepEqual(JSON.stringify(ours[i]), JSON.stringify(schema))
    const values = ['x', 1, true, null, [], [1], {}, { a: 'x' }, { a: 'x', b: 0 }, { a: 'x', b: 1, c: 'y' }]
    for (const value of values) assert.equal(Value.Check(ours[i]!, value), Value.Check(schema, value))
  }
})

test('no process of the product loads TypeBox', () => {
  for (const room of ['src', 'schemas', 'pipelines']) {
    const files = readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts'))
    for (const file of files) {
      const text = readFileSync(join(ROOT, room, file), 'utf8')
      assert.doesNotMatch(text, /^import (?!type ).* from 'typebox/m, `${file}: import Type from schemas/type.ts`)
    }
  }
})
