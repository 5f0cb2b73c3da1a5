import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { InputError } from '../run/errors.ts'
import { isLoopbackHost } from '../run/loopback.ts'
import { assertServerUrl, isClusterUrl, isSentinelUrl, readClusterUrl, readSentinelUrl } from './redis-url.ts'

/** Readers of setting values. Each throws `InputError` that says what the value must be. */

/** A whole number from `min` to `max`, in decimal digits. */
export function integer(min: number, max: number) {
  return (value: string): number => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= min && number <= max)) throw new InputError(`must be a whole number from ${min} to ${max}`)
    return number
  }
}

/** One of `values`, exactly. */
export function choice<const T extends string>(values: readonly T[]) {
  return (value: string): T => {
    const known = values.find((candidate) => candidate === value)
    if (known === undefined) throw new InputError(`must be one of ${values.join(', ')}`)
    return known
  }
}

/** Text of a form. */
export function text(form: RegExp, wanted: string) {
  return (value: string): string => {
    if (!form.test(value)) throw new InputError(`must be ${wanted}`)
    return value
  }
}

/** A path, made absolute. It need not exist. */
export function path() {
  return (value: string): string => {
    if (value.includes('\0')) throw new InputError('must be a path')
    return resolve(value)
  }
}

/** A folder that exists, as an absolute path. */
export function folder() {
  return (value: string): string => {
    const absolute = resolve(value)
    if (statSync(absolute, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new InputError('must be a folder that exists')
    }
    return absolute
  }
}

/** A URL of one of the protocols, with a host. */
export function url(protocols: readonly string[]) {
  const wanted = `must be ${protocols.map((protocol) => `${protocol}//host:port`).join(' or ')}`
  return (value: string): string => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined
    if (parsed === undefined || !protocols.includes(parsed.protocol) || parsed.hostname === '') {
      throw new InputError(wanted)
    }
    try {
      decodeURIComponent(parsed.username + parsed.password)
    } catch {
      throw new InputError('user and password must be percent-encoded: % is %25')
    }
    return value
  }
}

/** Several values, separated by commas. */
export function list<T>(read: (value: string) => T) {
  return (value: string): readonly T[] => value.split(',').map((one) => read(one.trim()))
}

/** The address of a server, `https://host` or `http://host:port`: without a path, a query or credentials, and without the last slash. */
export function httpOrigin(value: string): string {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  // A host may have quotes, and the origin goes into code to paste.
  if (/^https?:\/\/[\w.:[\]-]+$/.test(parsed?.origin ?? '') && parsed!.href === `${parsed!.origin}/`)
    return parsed!.origin
  throw new InputError('must be https://host or http://host:port')
}

/** The issuer of an OpenID Connect provider, as it is written: https, on this machine also http, without a query (OpenID Connect Discovery 1.0). */
export function issuer(value: string): string {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  const { protocol = '', host = '' } = parsed ?? {}
  const isPlain = parsed !== undefined && parsed.href === `${parsed.origin}${parsed.pathname}` && !/[?#]/.test(value)
  if (isPlain && (protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(host)))) return value
  throw new InputError('must be https://host or https://host/path; http only with localhost, 127.0.0.1 or [::1]')
}

/** The forms of a Redis address. */
export function redisUrl() {
  return (value: string): string => {
    if (/^unix:\/\/\/./.test(value)) return value
    if (isClusterUrl(value)) readClusterUrl(value)
    else if (isSentinelUrl(value)) readSentinelUrl(value)
    else assertServerUrl(value)
    return value
  }
}

const UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }

/** A size in bytes, or with the unit kb, mb or gb (powers of 1024). */
export function bytes(min: number, max = Number.MAX_SAFE_INTEGER) {
  return (value: string): number => {
    const match = /^(\d{1,12})\s?(b?|[kmg]b?)$/i.exec(value)
    const size = match === null ? Number.NaN : Number(match[1]) * UNITS[match[2]!.toLowerCase().charAt(0)]!
    if (!(size >= min && size <= max)) {
      const most = max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`
      throw new InputError(`must be bytes, or a size like 512mb or 4gb, at least ${min}${most}`)
    }
    return size
  }
}

/** The value without the passwords of a URL, so that it may be shown. */
export function shown(value: string): string {
  // Up to the last @, because a password that is not percent-encoded may have one, a slash or a space.
  const withoutCredentials = value.replace(/(:\/\/[^:/@\s]*:).*@/s, '$1***@')
  return JSON.stringify(withoutCredentials.replace(/([?&]\w*password=)[^&\s]*/gi, '$1***'))
}
