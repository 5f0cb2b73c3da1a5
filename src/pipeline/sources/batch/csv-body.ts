import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { parseQuery, single } from '../../../http/route/query.ts'
import { schemaError } from '../../../http/route/schema.ts'
import type { Advice, KeyMap } from './files/conversion.ts'
import { convertedFile, FILE_LIMITS } from './files/converted-file.ts'
import { isEncoding } from './files/encoding.ts'
import { type FileChoice, NoEventsError } from './files/event-file.ts'
import { DATE_ORDERS } from './files/timestamps.ts'

/** Includes blank lines, which are not events but take time. */
const LINES_MAX = 4 * BATCH_LIMITS.linesMax

const PARAMETERS: Advice = {
  map: 'the parameter map',
  address: (column) => `as in ?map=${encodeURIComponent(column)}=ip`,
  dateOrder: 'set ?date_order=dmy or mdy',
  encoding: 'if the body has another encoding, name it, as in content-type: text/csv; charset=windows-1252',
}

/** The second is that of version 0.2. */
const DATE_ORDER_NAMES = ['date_order', 'date-order']

/** How to read a body of CSV, by its content type and query; undefined when it is not CSV. */
export function csvChoice(contentType: string, query: string): FileChoice | undefined {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim())
  const given = parseQuery(query)
  if (type.toLowerCase() !== 'text/csv') {
    const unused = ['map', ...DATE_ORDER_NAMES].find((name) => given.has(name))
    if (unused === undefined) return undefined
    throw schemaError([{ path: unused, message: 'is for a body with content-type: text/csv' }])
  }
  const [order, ...others] = DATE_ORDER_NAMES.map((name) => single(given, name)).filter((value) => value !== undefined)
  const dateOrder = DATE_ORDERS.find((known) => known === order)
  if (others.length > 0 || (order !== undefined && dateOrder === undefined)) {
    throw schemaError([{ path: 'date_order', message: `must be ${DATE_ORDERS.join(' or ')}` }])
  }
  const map = keyMap(given.get('map') ?? [])
  return { format: 'csv', encoding: charsetOf(parameters), dateOrder, map, linesMax: LINES_MAX, advice: PARAMETERS }
}

/**
 * Converts a body of CSV into NDJSON with one line for each of its lines.
 * @throws HttpError 400 when it has no row, 413 when it is too large; InputError, which is answered 422, when its columns do not fit
 */
export async function* csvBody(body: AsyncIterable<Buffer>, choice: FileChoice): AsyncGenerator<Buffer> {
  try {
    yield* convertedFile('the body', body, choice, FILE_LIMITS)
  } catch (error) {
    throw error instanceof NoEventsError ? new HttpError('no_events', error.message) : error
  }
}

function keyMap(pairs: readonly string[]): KeyMap {
  return new Map(
    pairs.map((pair): [string, string] => {
      const at = pair.lastIndexOf('=')
      if (at < 1 || at === pair.length - 1) throw schemaError([{ path: 'map', message: 'must be COLUMN=KEY' }])
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    }),
  )
}

/** Undefined: UTF-8, or UTF-16 by its first bytes. */
function charsetOf(parameters: readonly string[]): string | undefined {
  const found = parameters.find((parameter) => /^charset=/i.test(parameter))
  const charset = found?.slice('charset='.length).replaceAll('"', '')
  if (charset === undefined || /^utf-?8$/i.test(charset)) return undefined
  if (isEncoding(charset)) return charset
  throw schemaError([{ path: 'content-type', message: 'names an unknown charset: use a name such as windows-1252' }])
}
