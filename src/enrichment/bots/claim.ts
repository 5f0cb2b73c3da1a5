import type { Bot } from '../../../schemas/bots.ts'
import type { ReadEvent } from '../../pipeline/event/read-event.ts'
import { botOf } from './user-agent.ts'

/** The end of every key that holds a user agent. Searching for it costs some nanoseconds, so other events cost no more. */
export const KEY_END = 'gent"'
export const AGENT_KEYS = ['user_agent', 'userAgent', 'useragent', '$user_agent', '$raw_user_agent'] as const
/** Objects of `properties` or of the event that libraries put the user agent into. Each may have a `context` of its own. */
export const AGENT_PARENTS = [
  'context',
  'segment',
  'rudderstack',
  'amplitude',
  'mixpanel',
  'posthog',
  'http',
  'request',
] as const

/** The bot that the user agent of an event names; undefined for a person's, and for an event without one. */
export function claimOf({ properties, extra }: Pick<ReadEvent, 'properties' | 'extra'>): Bot | undefined {
  return claimIn(properties) ?? claimIn(extra)
}

/** Most texts of one event that are judged. A library sends one or two. */
const TEXTS_MAX = 8

/** @param json text of an object; `''` for none */
function claimIn(json: string): Bot | undefined {
  let at = json.indexOf(KEY_END)
  for (let texts = 0; at >= 0 && texts < TEXTS_MAX; at = json.indexOf(KEY_END, at + KEY_END.length)) {
    if (!isKey(json, at + KEY_END.length - 1)) continue
    texts++
    // Only a bot is worth parsing the JSON, which tells a key from a text that contains one.
    if (mayBeBot(json, at + KEY_END.length)) return claimAt(json)
  }
  return undefined
}

/** Whether one of the keys ends here. @param end position of its closing quote */
function isKey(json: string, end: number): boolean {
  return AGENT_KEYS.some((key) => json.endsWith(`"${key}`, end))
}

/** Judges the text after a key. @param at the position after the key */
function mayBeBot(json: string, at: number): boolean {
  let start = at
  while (isBlank(json.charCodeAt(start))) start++
  if (json[start] !== ':') return false
  start++
  while (isBlank(json.charCodeAt(start))) start++
  if (json[start] !== '"') return false
  const end = json.indexOf('"', start + 1)
  const text = json.slice(start + 1, end < 0 ? json.length : end)
  return text.includes('\\') || botOf(text) !== undefined
}

function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

type Json = Readonly<Record<string, unknown>>

function claimAt(json: string): Bot | undefined {
  const root = objectOf(parsed(json))
  for (const holder of [root, ...AGENT_PARENTS.flatMap((name) => nested(root[name]))]) {
    for (const key of AGENT_KEYS) {
      const text = holder[key]
      if (typeof text === 'string') return botOf(text)
    }
  }
  return undefined
}

function nested(value: unknown): Json[] {
  const parent = objectOf(value)
  return [parent, objectOf(parent.context)]
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
