import { readFileSync } from 'node:fs'
import { domainToASCII } from 'node:url'
import { disposableEmailBlocklistSet } from 'disposable-email-domains-js'
import { parse } from 'tldts'
import { BROWSER_KEY, ROW_COLUMNS } from '../../../schemas/row.ts'
import type { ReadEvent } from './read-event.ts'
import { registrableDomain } from './registrable-domain.ts'
import { fromTsv } from './row.ts'

/** The parts of an event that may hold the visitor's e-mail address. */
export type EventTexts = Pick<ReadEvent, 'properties' | 'userProperties' | 'extra'>

/**
 * The registrable domain of the work e-mail address that came with an event, for the column `known_domain`. `''` when the event
 * has none, or one of a free or disposable mail provider. Nothing else of the address is kept. An event without `@` costs one
 * search of its text.
 */
export function knownDomainOf({ properties, userProperties, extra }: EventTexts): string {
  const isPossible = properties.includes('@') || userProperties.includes('@') || extra.includes('@')
  return isPossible ? workDomain(objectOf(userProperties), objectOf(extra), objectOf(properties)) : ''
}

/** Evidence in an event about its visitor's employer. */
export interface RowEvidence {
  /** See `knownDomainOf`. */
  readonly knownDomain: string
  /** One of `BROWSER_KEY`. */
  readonly browserKey: number
}

/**
 * Finds the evidence in an event about its visitor's employer. An event without `@` costs one search of its text.
 * @param isBrowser whether it came with a browser key: then that proves nothing, and is only counted
 */
export function evidenceOf(event: EventTexts, isBrowser: boolean): RowEvidence {
  const knownDomain = knownDomainOf(event)
  if (!isBrowser) return knownDomain === '' ? NO_EVIDENCE : { knownDomain, browserKey: BROWSER_KEY.no }
  return knownDomain === '' ? FROM_BROWSER : FROM_BROWSER_WITH_MAIL
}

const NO_EVIDENCE: RowEvidence = { knownDomain: '', browserKey: BROWSER_KEY.no }
const FROM_BROWSER: RowEvidence = { knownDomain: '', browserKey: BROWSER_KEY.yes }
const FROM_BROWSER_WITH_MAIL: RowEvidence = { knownDomain: '', browserKey: BROWSER_KEY.withWorkMail }

const [PROPERTIES_AT, USER_PROPERTIES_AT, EXTRA_AT] = (['properties', 'user_properties', 'extra'] as const).map(
  (name) => ROW_COLUMNS.indexOf(name),
) as [number, number, number]

/** As `knownDomainOf`, for a row (`row.ts`) that is not enriched yet. */
export function knownDomainOfRow(row: Buffer): string {
  const columns = row.toString('utf8').split('\t')
  const textAt = (index: number) => fromTsv(columns[index] ?? '')
  return knownDomainOf({
    properties: textAt(PROPERTIES_AT),
    userProperties: textAt(USER_PROPERTIES_AT),
    extra: textAt(EXTRA_AT),
  })
}

type JsonObject = Readonly<Record<string, unknown>>
const NOTHING: JsonObject = {}

/** Keys of an e-mail address, without case, `$`, `_` and `-`. */
const NAMES: ReadonlySet<string> = new Set(['email', 'emailaddress', 'useremail', 'workemail'])
/** Objects about the visitor, in which tools put the address: `traits` of Segment, `$set` of PostHog and Mixpanel. */
const ABOUT_VISITOR: ReadonlySet<string> = new Set(['traits', 'set', 'setonce', 'userproperties', 'user', 'person'])
/** `context.traits` is the deepest place that a tool uses, in `properties.context` at times. */
const DEPTH_MAX = 3
const PUNCTUATION = /[$_-]/g
/** The domain of an address, with or without a name: `Jane <jane@example.com>`. */
const ADDRESS = /^(?:[^<>]{0,200}<)?[^\s@<>]{1,200}@([^\s@<>]{1,253})>?$/

/** The first work domain. User properties win over event properties. */
function workDomain(user: JsonObject, extra: JsonObject, properties: JsonObject): string {
  return workDomainIn(user) || workDomainIn(extra) || workDomainIn(properties)
}

function workDomainIn(object: JsonObject, depth = 1): string {
  const nested: JsonObject[] = []
  for (const [key, value] of Object.entries(object)) {
    const name = key.toLowerCase().replace(PUNCTUATION, '')
    if (typeof value === 'string') {
      const domain = NAMES.has(name) ? workDomainOf(value) : ''
      if (domain !== '') return domain
    } else if (isObject(value) && (ABOUT_VISITOR.has(name) || name === 'context')) {
      nested.push(value)
    }
  }
  if (depth === DEPTH_MAX) return ''
  for (const value of nested) {
    const domain = workDomainIn(value, depth + 1)
    if (domain !== '') return domain
  }
  return ''
}

/** The registrable domain of a work e-mail address; `''` for any other text. */
function workDomainOf(address: string): string {
  const host = domainToASCII(ADDRESS.exec(address.trim())?.[1] ?? '')
  if (host === '' || NO_MAILBOX.test(host)) return ''
  const domain = registrableDomain(host)
  return domain === undefined || isFreeMail(domain) ? '' : domain
}

/** Addresses that a service makes up for its users: `users.noreply.github.com`. */
const NO_MAILBOX = /(?:^|\.)(?:no-?reply|privaterelay)\./

interface FreeMail {
  /** Domains of free and disposable mail. */
  readonly domains: ReadonlySet<string>
  /** Names with any public suffix. */
  readonly names: ReadonlySet<string>
}

const ANY_SUFFIX = '.*'
/** Read for the first e-mail address: most processes see none. */
let freeMail: FreeMail | undefined

function isFreeMail(domain: string): boolean {
  freeMail ??= readFreeMail()
  return freeMail.domains.has(domain) || freeMail.names.has(parse(domain).domainWithoutSuffix ?? '')
}

function readFreeMail(): FreeMail {
  const text = readFileSync(new URL('free-mail.txt', import.meta.url), 'utf8').replace(/^#.*$/gm, '')
  const entries = text.split(/[,\n]/).map((entry) => entry.trim())
  const names = entries.filter((entry) => entry.endsWith(ANY_SUFFIX)).map((entry) => entry.slice(0, -ANY_SUFFIX.length))
  const domains = entries.filter((entry) => entry !== '' && !entry.endsWith(ANY_SUFFIX))
  return { domains: new Set([...disposableEmailBlocklistSet(), ...domains]), names: new Set(names) }
}

function objectOf(text: string): JsonObject {
  if (!text.includes('@')) return NOTHING
  try {
    // Any JSON value.
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : NOTHING
  } catch {
    // A row that is damaged is still stored.
    return NOTHING
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
