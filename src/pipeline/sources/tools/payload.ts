import { HttpError } from '../../../http/engine/http-error.ts'
import { parseJson } from '../../../http/route/parse-json.ts'
import { parseExactly } from './exact-json.ts'
import { objectOf } from './tool-event.ts'

/** Levels of a payload. An event may have fewer, and is rejected by itself then, so that the others are stored. */
export const PAYLOAD_LEVELS_MAX = 256

/**
 * Reads the body that a tool's library sent: JSON, or a form whose field `data` is JSON, or a form of parameters, or JSON in base64.
 * Labels are not looked at: RudderStack's library calls JSON a form, and browsers send JSON as text, because that needs no preflight.
 * @throws HttpError 400 when it is none of them, 422 when it has more than `PAYLOAD_LEVELS_MAX` levels
 */
export function readPayload(text: string): unknown {
  const first = text.trimStart()[0]
  if (first === '{' || first === '[' || first === undefined) return parseDeep(text)
  const form = new URLSearchParams(text)
  const data = form.get('data')
  if (data !== null) return withFields(readData(data), form)
  return text.includes('=') && !isBase64(text) ? Object.fromEntries(form) : readData(text)
}

/**
 * Reads the query of a request whose payload is in it: its parameter `data`, or else all of its parameters.
 * @param query without a question mark
 */
export function readQuery(query: string): unknown {
  const parameters = new URLSearchParams(query)
  const data = parameters.get('data')
  return data === null ? Object.fromEntries(parameters) : withFields(readData(data), parameters)
}

/** The other fields of a form may name the key. Arrays have no place for them. */
function withFields(payload: unknown, form: URLSearchParams): unknown {
  if (Array.isArray(payload) || typeof payload !== 'object') return payload
  const { data: _, ...others } = Object.fromEntries(form)
  return { ...others, ...objectOf(payload) }
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

function isBase64(text: string): boolean {
  return BASE64.test(text.trim().replaceAll(' ', '+'))
}

function readData(data: string): unknown {
  const text = data.trim()
  if (!isBase64(text)) return parseDeep(text)
  // A form turns the plus signs of base64 that was not escaped into blanks.
  const decoded = Buffer.from(text.replaceAll(' ', '+'), 'base64')
  if (decoded.length === 0) throw new HttpError(400, 'the body is empty')
  return parseDeep(decoded.toString('utf8'))
}

function parseDeep(text: string): unknown {
  return parseExactly(text, (json) => parseJson(json, undefined, PAYLOAD_LEVELS_MAX))
}
