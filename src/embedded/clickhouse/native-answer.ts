import type { Ask } from './addon.ts'
import { type EffectiveSettings, isOn } from './effective-settings.ts'
import { Code, Exception } from './exception.ts'
import { checkRevision, withRevision } from './native-revision.ts'
import { nativeType } from './native-types.ts'
import type { Canonical } from './reach.ts'
import type { Consume } from './reading.ts'
import { type StatementShape, shapeOf } from './statement.ts'

interface NativeStatement {
  readonly sql: string
  readonly shape: StatementShape
  readonly defaultFormat: string
  /** `client_protocol_version`; 0 for none. */
  readonly revision: number
  readonly settings: EffectiveSettings
}

const BINARY_TYPES = 'output_format_native_encode_types_in_binary_format'

/**
 * Converts a result in FORMAT Native to the client's revision of the protocol. Other formats pass unchanged.
 * @param ask queries on the statement's connection
 * @throws Exception before the statement runs, if the revision cannot represent its result
 */
export async function forRevision(
  { sql, shape, defaultFormat, revision, settings }: NativeStatement,
  { ask, canonical }: { readonly ask: Ask; readonly canonical: Canonical },
  consume: Consume,
): Promise<Consume> {
  if (revision === 0 || !isNative(shape.format ?? defaultFormat)) return consume
  checkRevision(revision)
  if (isOn(settings.get(BINARY_TYPES))) {
    const message = `The embedded ClickHouse has no client_protocol_version with ${BINARY_TYPES}. (NOT_IMPLEMENTED)`
    throw new Exception(Code.NotImplemented, message)
  }
  const types = shape.isSelect && !shape.hasFile ? await typesOf(await canonical(sql), ask) : []
  for (const type of types) nativeType(type)
  return async (result) => {
    const chunks = isNative(result.format) ? withRevision(result.chunks, revision, types) : result.chunks
    await consume({ ...result, chunks })
  }
}

function isNative(format: string): boolean {
  return format.toLowerCase() === 'native'
}

/** Types of the columns of a canonical SELECT. */
async function typesOf(canonical: string, ask: Ask): Promise<string[]> {
  const select = canonical.slice(0, shapeOf(canonical).formatAt)
  const sql = `DESCRIBE TABLE (${select}) SETTINGS output_format_json_array_of_rows = 0 FORMAT JSONCompactEachRow`
  const lines = (await ask(sql)).split('\n').filter((line) => line !== '')
  return lines.map((line) => (JSON.parse(line) as [string, string])[1])
}
