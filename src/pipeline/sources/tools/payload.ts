import { TextDecoder } from 'node:util'
import { HttpError } from '../../../http/engine/http-error.ts'
import { PLUS, SPACE } from '../../../run/json-codes.ts'
import type { SlicedWork } from '../../../run/slices.ts'
import { parsePayload } from './payload-json.ts'

/** Parameters of a form or a query. Those of the libraries have fewer than 200. More are answered 413. */
const PARAMETERS_MAX = 1_000
export const TOO_MANY_PARAMETERS = `has more than ${PARAMETERS_MAX} parameters`

/**
 * Reads the body that a tool's library sent: JSON, or a form whose field `data` is JSON, or a form of parameters, or JSON in base64.
 * Ignores the content type: RudderStack's library calls JSON a form, and browsers send JSON as text, because that needs no preflight.
 * @param lists as for `parsePayload`
 * @param charsetField as in `ToolRoute`
 * @throws HttpError 400 when it is none of them, 413 or 422 when it is over a limit
 */
export function* readPayload(text: string, lists: readonly string[] = [], charsetField?: string): SlicedWork<unknown> {
  const first = text.trimStart()[0]
  if (first === '{' || first === '[' || first === undefined) return yield* parsePayload(text, lists)
  if (text.includes('=') && !isBase64(text)) return yield* readQuery(text, lists, charsetField)
  return yield* readData(text, lists)
}

/**
 * Reads parameters, as of a request whose payload is in its query: the parameter `data`, or else all parameters.
 * @param query without a question mark
 */
export function* readQuery(query: string, lists: readonly string[] = [], charsetField?: string): SlicedWork<unknown> {
  const parameters = yield* readParameters(query, charsetField)
  const { data } = parameters
  // Parameters beside the data are about the request, such as `verbose=1`. They are no part of an event.
  return data === undefined ? parameters : yield* readData(data, lists)
}

/**
 * The parameters of a form, decoded. The last parameter of a name counts.
 * @param charsetField as in `ToolRoute`
 */
export function* readParameters(form: string, charsetField?: string): SlicedWork<Record<string, string>> {
  if (hasTooManyParameters(form)) throw new HttpError('too_many_parameters', `the body or query ${TOO_MANY_PARAMETERS}`)
  const decoder = charsetField === undefined ? undefined : declaredDecoder(form, charsetField)
  const parameters: [string, string][] = []
  for (const pair of form.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = yield* decoded(equals < 0 ? pair : pair.slice(0, equals))
    const raw = equals < 0 ? '' : pair.slice(equals + 1)
    const value = yield* decoded(raw)
    parameters.push([name, decoder === undefined ? value : inCharset(raw, value, decoder)])
  }
  return Object.fromEntries(parameters)
}

/** @param form a form or a query */
export function hasTooManyParameters(form: string): boolean {
  return form.split('&', PARAMETERS_MAX + 1).length > PARAMETERS_MAX
}

const UNKNOWN_CHARACTER = '\ufffd'

/** The decoder of the character set that a form names; undefined: none, or one that is not known. */
function declaredDecoder(form: string, field: string): TextDecoder | undefined {
  const pair = `&${field}=`
  const at = `&${form}`.indexOf(pair)
  const [label = ''] = at < 0 ? [] : form.slice(at + pair.length - 1).split('&', 1)
  if (label === '') return undefined
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

/** The value in a character set, if it is not UTF-8: scripts write UTF-8 on pages of any character set. @param utf8 the value as UTF-8 */
function inCharset(raw: string, utf8: string, decoder: TextDecoder): string {
  if (!utf8.includes(UNKNOWN_CHARACTER) || raw.length > DECODED_CHARS) return utf8
  const bytes = raw
    .replaceAll('+', ' ')
    .replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return decoder.decode(Buffer.from(bytes, 'latin1'))
}

/** Characters that are decoded between two yields. */
const DECODED_CHARS = 16_384

/** Decodes a name or a value of a form, as `URLSearchParams` does: text that is not percent-encoding stays as it is. */
function* decoded(text: string): SlicedWork<string> {
  if (!text.includes('%') && !text.includes('+')) return text
  let result = ''
  for (let at = 0; at < text.length; ) {
    const end = cutBetweenCharacters(text, at + DECODED_CHARS)
    result += new URLSearchParams(`x=${text.slice(at, end)}`).get('x')
    at = end
    yield
  }
  return result
}

/** An encoded character of UTF-8: four times `%F0`. */
const ENCODED_CHARS_MAX = 12

/** The first position from `at` that is not inside of an encoded character. */
function cutBetweenCharacters(text: string, at: number): number {
  for (let end = at; end < text.length; end++) {
    // A longer run of these bytes is not UTF-8.
    const isInside = end < at + ENCODED_CHARS_MAX && /[89ab]/i.test(text[end + 1] ?? '')
    if (text[end] === '%' ? !isInside : text[end - 1] !== '%' && text[end - 2] !== '%') return end
  }
  return text.length
}

/** No class of 64 characters repeats without a limit: an expression for long text would overflow the stack. */
const NOT_BASE64 = /[^A-Za-z0-9+/_\- =]/

/** Whether a text is base64. A form may have turned its plus signs into blanks. */
export function isBase64(text: string): boolean {
  const trimmed = text.trim()
  const padding = trimmed.indexOf('=')
  return trimmed !== '' && !NOT_BASE64.test(trimmed) && (padding < 0 || /^==?$/.test(trimmed.slice(padding)))
}

/** Decodes base64. A form turns its plus signs into blanks when they are not escaped. */
export function fromBase64(text: string): Buffer {
  if (!text.includes(' ')) return Buffer.from(text, 'base64')
  // `replaceAll` takes a second for 4 MB of blanks.
  const bytes = Buffer.from(text, 'latin1')
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === SPACE) bytes[i] = PLUS
  return Buffer.from(bytes.toString('latin1'), 'base64')
}

function* readData(data: string, lists: readonly string[]): SlicedWork<unknown> {
  const text = data.trim()
  if (!isBase64(text)) return yield* parsePayload(text, lists)
  const bytes = fromBase64(text)
  if (bytes.length === 0) throw new HttpError('empty_body', 'the body is empty')
  return yield* parsePayload(bytes.toString('utf8'), lists)
}
