import { hash, randomBytes } from 'node:crypto'
import { KEY_START, prefixCharsOf, TEST_KEY_START } from '../../schemas/key-text.ts'

const BULLETS = '•'.repeat(8)

const RAW_KEY = /^ipid_(?:test_)?[0-9a-f]{64}$/
const BARE_PREFIX = /^ipid_(?:test_)?[0-9a-f]{7}$/
const KEY_DIGITS = 64
const RAW_KEY_CHARS = [KEY_START.length + KEY_DIGITS, TEST_KEY_START.length + KEY_DIGITS]

/**
 * A new raw key: `KEY_START` and 64 hexadecimal characters, of 256 random bits.
 * @param isTest begins with `TEST_KEY_START` instead. The text says it, and nothing else does: no change of a record can turn one sort into the other.
 */
export function generateRawKey(isTest = false): string {
  return `${isTest ? TEST_KEY_START : KEY_START}${randomBytes(32).toString('hex')}`
}

/** A key of a source. The first 7 digits are the same in both of its keys, and are no secret. */
const RAW_SOURCE_KEY = /^(?:src|pub)_[0-9a-f]{40}$/
const RAW_SOURCE_KEY_CHARS = 44
const PREFIX_CHARS = 4
const SOURCE_ID_CHARS = 11
const SOURCE_ID = /^src_[0-9a-f]{7}$/
const BROWSER_PREFIX = 'pub_'

/**
 * The kind of the scripts in pages. All of its keys are browser keys, also those that begin with `src_`, from before there were browser
 * keys.
 */
export const PAGE_KIND = 'web'

/** The keys of a new source: a secret one for servers, and one for browsers, which is in public pages. */
export interface SourceKeys {
  /** `src_` and 40 hexadecimal characters, of 160 random bits. */
  readonly server: string
  /** `pub_`, the 7 digits of the source's id, and 33 other ones. */
  readonly browser: string
}

export function generateSourceKeys(): SourceKeys {
  const [server, other] = [randomBytes(20).toString('hex'), randomBytes(20).toString('hex')]
  const digits = SOURCE_ID_CHARS - PREFIX_CHARS
  return { server: `src_${server}`, browser: `${BROWSER_PREFIX}${server.slice(0, digits)}${other.slice(digits)}` }
}

/** The id of the source that a key belongs to: `src_` and the first 7 digits of the key. */
export function sourceIdOf(rawKey: string): string {
  return `src_${rawKey.slice(PREFIX_CHARS, SOURCE_ID_CHARS)}`
}

/** Whether a key has the form of a browser key. */
export function isBrowserKey(rawKey: string): boolean {
  return rawKey.length === RAW_SOURCE_KEY_CHARS && rawKey.startsWith(BROWSER_PREFIX)
}

export function isSourceId(text: string): boolean {
  return SOURCE_ID.test(text)
}

/** Whether a text has the form of an API key or of a source key. Other texts need no call to the store. */
export function isRawKey(text: string): boolean {
  if (text.length === RAW_SOURCE_KEY_CHARS) return RAW_SOURCE_KEY.test(text)
  return RAW_KEY_CHARS.includes(text.length) && RAW_KEY.test(text)
}

/** SHA-256 of a raw key, 64 hexadecimal characters. Stores have only this hash. */
export function hashKey(rawKey: string): string {
  return hash('sha256', rawKey, 'hex')
}

/** The first characters of a key, which identify it: see `prefixCharsOf`. */
export function barePrefix(rawKey: string): string {
  return rawKey.slice(0, prefixCharsOf(rawKey))
}

/** A prefix with bullets, as users see it. */
export function displayPrefix(bare: string): string {
  return `${bare}${BULLETS}`
}

/** Reads a prefix with or without bullets. Undefined when the text is not a prefix. */
export function parsePrefix(text: string): string | undefined {
  const bare = text.trim().replace(/(?<!•)•+$/, '')
  return BARE_PREFIX.test(bare) ? bare : undefined
}
