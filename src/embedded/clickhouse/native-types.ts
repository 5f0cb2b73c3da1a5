import { Code, Exception } from './exception.ts'

/** The layout of a ClickHouse type in a block of FORMAT Native, as far as needed to skip its values. */
export type NativeType =
  | { readonly kind: 'fixed'; readonly bytes: number }
  | { readonly kind: 'string' }
  | { readonly kind: 'nullable'; readonly inner: NativeType }
  | { readonly kind: 'array'; readonly inner: NativeType }
  | { readonly kind: 'tuple'; readonly elements: readonly NativeType[] }
  | { readonly kind: 'lowCardinality'; readonly keys: NativeType }

const FIXED_BYTES: Readonly<Record<string, number>> = {
  ...{ UInt8: 1, UInt16: 2, UInt32: 4, UInt64: 8, UInt128: 16, UInt256: 32 },
  ...{ Int8: 1, Int16: 2, Int32: 4, Int64: 8, Int128: 16, Int256: 32 },
  ...{ BFloat16: 2, Float32: 4, Float64: 8, Bool: 1, Nothing: 1, UUID: 16, IPv4: 4, IPv6: 16 },
  ...{ Date: 2, Date32: 4, DateTime: 4, DateTime64: 8, Time: 4, Time64: 8, Enum8: 1, Enum16: 2 },
}

const ALIASES: Readonly<Record<string, string>> = {
  Point: 'Tuple(Float64, Float64)',
  Ring: 'Array(Point)',
  LineString: 'Array(Point)',
  MultiLineString: 'Array(LineString)',
  Polygon: 'Array(Ring)',
  MultiPolygon: 'Array(Polygon)',
}

const DEPTH_MAX = 100

/**
 * @param name name of a type in the engine's spelling
 * @throws Exception for a type with an unsupported layout, such as an aggregate state
 */
export function nativeType(name: string, depth = 0): NativeType {
  const at = name.indexOf('(')
  const base = at < 0 ? name : name.slice(0, at)
  const parameters = at < 0 ? [] : parametersOf(name.slice(at + 1, -1))
  const bytes = fixedBytes(base, parameters)
  if (bytes !== undefined) return { kind: 'fixed', bytes }
  if (depth > DEPTH_MAX) throw unknownType(name)
  const inner = (index: number) => nativeType(parameters[index] ?? '', depth + 1)
  const elements = () => parameters.map((parameter) => nativeType(withoutName(parameter), depth + 1))
  switch (base) {
    case 'String':
      return { kind: 'string' }
    case 'Nullable':
      return { kind: 'nullable', inner: inner(0) }
    case 'Array':
      return { kind: 'array', inner: inner(0) }
    case 'Map':
    case 'Nested':
      return { kind: 'array', inner: { kind: 'tuple', elements: elements() } }
    case 'Tuple':
      // A tuple without elements has one byte per row.
      return parameters.length === 0 ? { kind: 'fixed', bytes: 1 } : { kind: 'tuple', elements: elements() }
    case 'LowCardinality': {
      const values = inner(0)
      // A NULL is a key like any other.
      return { kind: 'lowCardinality', keys: values.kind === 'nullable' ? values.inner : values }
    }
    case 'SimpleAggregateFunction':
      return inner(1)
  }
  const alias = ALIASES[base]
  if (alias === undefined) throw unknownType(name)
  return nativeType(alias, depth + 1)
}

function fixedBytes(base: string, parameters: readonly string[]): number | undefined {
  if (Object.hasOwn(FIXED_BYTES, base)) return FIXED_BYTES[base]
  if (base === 'FixedString') return Number(parameters[0])
  if (base.startsWith('Interval')) return 8
  if (base === 'Decimal') {
    const digits = Number(parameters[0])
    return digits <= 9 ? 4 : digits <= 18 ? 8 : digits <= 38 ? 16 : 32
  }
  return undefined
}

const PIECE = /'(?:[^'\\]|\\[\s\S])*'|`(?:[^`\\]|\\[\s\S])*`|[(),]|[^'`(),]/g

/** The parameters in a type's parentheses. */
function parametersOf(text: string): string[] {
  const parameters: string[] = []
  let depth = 0
  let parameter = ''
  for (const [piece] of text.matchAll(PIECE)) {
    if (piece === '(') depth++
    if (piece === ')') depth--
    if (piece === ',' && depth === 0) {
      parameters.push(parameter.trim())
      parameter = ''
    } else parameter += piece
  }
  if (parameter.trim() !== '') parameters.push(parameter.trim())
  return parameters
}

/** Removes the optional name of a tuple's element. */
function withoutName(element: string): string {
  if (element.startsWith('`')) return element.replace(/^`(?:[^`\\]|\\[\s\S])*` /, '')
  const space = element.indexOf(' ')
  const parenthesis = element.indexOf('(')
  return space >= 0 && (parenthesis < 0 || space < parenthesis) ? element.slice(space + 1) : element
}

function unknownType(name: string): Exception {
  const message = `The embedded ClickHouse has no client_protocol_version for FORMAT Native with a column of type ${name}: convert the column, or ask for another format. (NOT_IMPLEMENTED)`
  return new Exception(Code.NotImplemented, message)
}
