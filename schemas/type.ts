import type { Type as TypeBox } from 'typebox'

/*
 * What the schemas use of TypeBox, with its types: each makes the same JSON Schema, as a test holds it to. TypeBox itself
 * is 373 modules, which cost every process 1.3 s of CPU at its start.
 */

export type { Static, TProperties, TSchema } from 'typebox'

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>

type Schema = Readonly<Record<string, unknown>>

/** By these TypeBox knows its own; nobody else sees them. */
const OPTIONAL = '~optional'
const KIND = '~kind'

function make(kind: string, schema: Schema, options?: Schema): Schema {
  return hide({ ...schema, ...options }, KIND, kind)
}

function hide(schema: object, name: string, value: unknown): Schema {
  return Object.defineProperty(schema, name, { value, enumerable: false }) as Schema
}

function simple(kind: string, type: string) {
  return (options?: Schema) => make(kind, { type }, options)
}

function optional(schema: Schema): Schema {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema))
  return hide(copy, OPTIONAL, true)
}

function object(properties: Readonly<Record<string, Schema>>, options?: Schema): Schema {
  const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name]!, OPTIONAL))
  return make('Object', { type: 'object', ...(required.length > 0 && { required }), properties }, options)
}

export const Type = {
  Array: (items: Schema, options?: Schema) => make('Array', { type: 'array', items }, options),
  Boolean: simple('Boolean', 'boolean'),
  Enum: (values: readonly unknown[], options?: Schema) => make('Enum', { enum: values }, options),
  Integer: simple('Integer', 'integer'),
  Literal: (value: unknown, options?: Schema) => make('Literal', { type: typeof value, const: value }, options),
  Null: simple('Null', 'null'),
  Number: simple('Number', 'number'),
  Object: object,
  Optional: optional,
  String: simple('String', 'string'),
  Union: (anyOf: readonly Schema[], options?: Schema) => make('Union', { anyOf }, options),
  Unknown: (options?: Schema) => make('Unknown', {}, options),
  Unsafe: (schema: Schema) => schema,
} as unknown as Builders
