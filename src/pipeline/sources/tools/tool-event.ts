import { hash } from 'node:crypto'
import { cutText } from '../../../run/cut-text.ts'
import { derivedUuid } from '../../../run/derived-uuid.ts'
import { unmarked } from './exact-json.ts'

/**
 * An event as an analytics tool's payload describes it, before its address is known. Its fields are those of
 * `EventEnvelope`; keys that are undefined are left out.
 */
export interface ToolEvent {
  /** The tool's own message id, so that a retry is a repeat. Undefined: the tool has none, and does not retry. */
  readonly event_id?: unknown
  /** In place of an id, for a tool that retries without one: text that is the same in each attempt of an event of one visitor. */
  readonly attemptKey?: string | undefined
  /** Corrected by the sender's clock where the tool defines that. Undefined: the time of receipt. */
  readonly timestamp?: unknown
  readonly event_type?: unknown
  /** A group or company of the tool; never its user id. */
  readonly account_id?: unknown
  readonly session_id?: number | undefined
  /** Library or channel that sent the event. */
  readonly platform?: unknown
  readonly properties?: JsonObject | undefined
  readonly user_properties?: JsonObject | undefined
  /** The page of the event, and where the visitor came from. */
  readonly page?: Page | undefined
  /** The visitor's address in the payload. Undefined: it has none. `REMOTE`: the payload asks for that of the connection. */
  readonly ip?: unknown
  /** The library that sent the event, as named in the payload. */
  readonly library?: unknown
}

/** In place of an address: the payload asks for the address of the connection. */
export const REMOTE = Symbol('address of the connection')

/** Columns that the dashboard groups by. */
export interface Page {
  /** Without its fragment. */
  readonly url?: string | undefined
  readonly referrer?: string | undefined
  readonly utm_source?: string | undefined
  readonly utm_medium?: string | undefined
  readonly utm_campaign?: string | undefined
  readonly utm_term?: string | undefined
  readonly utm_content?: string | undefined
}

/** An event in the form of `EventEnvelope`. @param ip the visitor's address; undefined: it has none */
export function eventOf({ page, ip: _ip, library: _library, attemptKey, ...event }: ToolEvent, ip: unknown): object {
  if (attemptKey === undefined) return { ip, ...event, ...page }
  return { ip, ...event, event_id: derivedUuid(`${attemptKey} ${labelOf(ip) ?? ''}`), ...page }
}

export type JsonObject = Readonly<Record<string, unknown>>

/** The value as an object; an empty one for anything else. An array is not an object. */
export function objectOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

/** The value as an array: itself, or its only entry. Undefined gives an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

/** The value, if it is a non-empty text. A number that `parseExactly` kept as text is not one. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && unmarked(value) === value ? value : undefined
}

/** The value as a label: a text, or a number in decimal; undefined for all else, and for empty text. */
export function labelOf(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : textOf(unmarked(value))
}

/** An id or a name of an event. A number becomes its digits, so that it is the same in each attempt; any other value stays unchanged. */
export function idOf(value: unknown): unknown {
  return labelOf(value) ?? value
}

/**
 * The id of an event whose tool tells repeats by more values than the id that its sender made. A repeat has all of them again.
 * @param id the sender's; a missing one, or no text or number, makes no key and is returned
 * @param values texts and numbers; undefined ones count too. Without any the id itself is the key
 */
export function repeatKey(tool: string, id: unknown, ...values: readonly unknown[]): unknown {
  const own = labelOf(id)
  const labels = values.map(labelOf)
  if (own === undefined || labels.every((label) => label === undefined)) return own ?? id
  return derivedUuid(JSON.stringify([tool, own, ...labels]))
}

/** An object without the given keys, and without keys whose value is undefined. */
export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  return copyWithout(object, keys)
}

/** The same as an object to which keys are added. V8 takes several times as long to add one to `{...object}`. */
export function copyWithout(object: JsonObject, keys: readonly string[] = []): Record<string, unknown> {
  const left: Record<string, unknown> = {}
  for (const key of Object.keys(object)) {
    const value = object[key]
    if (value === undefined || keys.includes(key)) continue
    if (key === '__proto__') Object.defineProperty(left, key, { value, enumerable: true })
    else left[key] = value
  }
  return left
}

/** The object, or undefined when it has no keys. */
export function unlessEmpty<T extends JsonObject>(object: T): T | undefined {
  return Object.keys(object).length === 0 ? undefined : object
}

/**
 * Adds the fields that a tool sends beside an event's own properties under one key, so that it overwrites none of them.
 * @param name the tool's; underscores are added while a property has that name
 */
export function withRest(properties: JsonObject, name: string, rest: JsonObject): JsonObject | undefined {
  if (Object.keys(rest).length === 0) return unlessEmpty(properties)
  let key = name
  while (Object.hasOwn(properties, key)) key += '_'
  const all = copyWithout(properties)
  all[key] = rest
  return all
}

/**
 * The integer for a session: integers as they are, in text too; any other text as 53 bits of its SHA-256, so that
 * the same text is always the same session. Undefined for anything else.
 */
export function sessionIdOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : hashed(String(value))
  const text = textOf(unmarked(value))
  if (text === undefined) return undefined
  return /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : hashed(text)
}

function hashed(text: string): number {
  return Number(BigInt(`0x${hash('sha256', text, 'hex').slice(0, 16)}`) >> 11n)
}

const UTM = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const
/** Names of links that are tagged for Matomo, in its order. Google's come first. */
const TAGGED: Readonly<Record<(typeof UTM)[number], readonly string[]>> = {
  utm_source: ['mtm_source', 'pk_source', 'piwik_source'],
  utm_medium: ['mtm_medium', 'pk_medium', 'piwik_medium'],
  utm_campaign: ['mtm_campaign', 'matomo_campaign', 'pk_campaign', 'piwik_campaign'],
  utm_term: ['mtm_kwd', 'mtm_keyword', 'pk_kwd', 'pk_keyword', 'piwik_kwd', 'piwik_keyword'],
  utm_content: ['mtm_content', 'pk_content', 'piwik_content'],
}
const IS_TAGGED = /(?:utm|mtm|pk|piwik|matomo)_/
const PAGE_TEXT_MAX_CHARS = 2_048
/** Characters of a page that may name its campaign. */
const PAGE_READ_CHARS = 4_096
const NO_CAMPAIGN = {}

function plainPage(url: string | undefined, referrer: string | undefined): Page | undefined {
  if (url === undefined) return referrer === undefined ? undefined : { referrer: pageText(referrer) }
  return referrer === undefined ? { url: pageText(url) } : { url: pageText(url), referrer: pageText(referrer) }
}

function pageText(text: string): string {
  return cutText(text, PAGE_TEXT_MAX_CHARS)
}

/**
 * The page of an event.
 * @param url absolute or not; its query names the campaign where `campaign` does not, or its fragment, as Matomo reads it
 * @param campaign by UTM names, with or without `utm_`; `name` is the campaign's, as Segment has it
 */
export function pageOf(url: unknown, referrer: unknown, campaign: unknown = NO_CAMPAIGN): Page | undefined {
  const address = cutText(textOf(url) ?? '', PAGE_READ_CHARS) || undefined
  const at = address?.indexOf('#') ?? -1
  const page = at < 0 ? address : address!.slice(0, at)
  // Most pages have no campaign, and logs have many pages.
  const isTagged = address?.includes('_') === true && IS_TAGGED.test(address)
  if (campaign === NO_CAMPAIGN && !isTagged) return plainPage(page, textOf(referrer))
  const query = isTagged ? parametersOf(page!, at < 0 ? '' : address!.slice(at + 1)) : undefined
  const tagged = query && taggedCampaign((name) => query.get(name))
  const named = objectOf(campaign)
  const found: Record<string, string | undefined> = { url: page, referrer: textOf(referrer) }
  for (const key of UTM) {
    const short = key.slice('utm_'.length)
    const own = named[key] ?? named[short] ?? (short === 'campaign' ? named.name : undefined)
    found[key] = textOf(own) ?? tagged?.[key]
  }
  const given = Object.entries(found).filter(([, value]) => value !== undefined)
  if (given.length === 0) return undefined
  return Object.fromEntries(given.map(([key, value]) => [key, pageText(value!)]))
}

/** The parameters of a page's query, before those of its fragment. */
function parametersOf(page: string, fragment: string): URLSearchParams {
  const mark = page.indexOf('?')
  const query = mark < 0 ? '' : page.slice(mark + 1)
  return new URLSearchParams(fragment === '' ? query : `${query}&${fragment.replace(/^[^?]*\?/, '')}`)
}

/** The campaign that parameters of a link name. @param get the value of a parameter; null or undefined: there is none */
export function taggedCampaign(get: (name: string) => unknown): Record<string, string> {
  const found: Record<string, string> = {}
  for (const key of UTM) {
    for (const name of [key, ...TAGGED[key]]) {
      const text = textOf(get(name))
      if (text === undefined) continue
      found[key] = text
      break
    }
  }
  return found
}
