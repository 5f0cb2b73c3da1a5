import { hash, randomBytes } from 'node:crypto'

const KEY_PREFIX_CHARS = 12
const BULLETS = '•'.repeat(8)

const RAW_KEY = /^ipid_[0-9a-f]{64}$/
const BARE_PREFIX = /^ipid_[0-9a-f]{7}$/
const RAW_KEY_CHARS = 69

/** A new raw key: `ipid_` and 64 hexadecimal characters, of 256 random bits. */
export function generateRawKey(): string {
  return `ipid_${randomBytes(32).toString('hex')}`
}

const RAW_SOURCE_KEY = /^src_[0-9a-f]{40}$/
const RAW_SOURCE_KEY_CHARS = 44
const SOURCE_ID_CHARS = 11
const SOURCE_ID = /^src_[0-9a-f]{7}$/

/** A new source key: `src_` and 40 hexadecimal characters, of 160 random bits. */
export function generateSourceKey(): string {
  return `src_${randomBytes(20).toString('hex')}`
}

/** The first 11 characters of a source key. They name its source, and are no secret. */
export function sourceIdOf(rawKey: string): string {
  return rawKey.slice(0, SOURCE_ID_CHARS)
}

export function isSourceId(text: string): boolean {
  return SOURCE_ID.test(text)
}

/** Whether a text has the form of an API key or of a source key. Other texts need no call to the store. */
export function isRawKey(text: string): boolean {
  if (text.length === RAW_SOURCE_KEY_CHARS) return RAW_SOURCE_KEY.test(text)
  return text.length === RAW_KEY_CHARS && RAW_KEY.test(text)
}

/** SHA-256 of a raw key, 64 hexadecimal characters. Stores have only this hash. */
export function hashKey(rawKey: string): string {
  return hash('sha256', rawKey, 'hex')
}

/** The first 12 characters. They identify a key. */
export function barePrefix(rawKey: string): string {
  return rawKey.slice(0, KEY_PREFIX_CHARS)
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
