import { open } from 'node:fs/promises'
import { InputError } from '../../../run/errors.ts'
import type { UpdateLimits } from './limits.ts'
import type { Source } from './sources.ts'

/** What tells versions of a file apart. */
export interface Validators {
  readonly etag?: string
  readonly lastModified?: string
}

export interface DownloadOptions {
  /** Milliseconds since the Unix epoch: `{month}` of a URL. */
  readonly nowMs: number
  readonly limits: UpdateLimits
}

/** @returns the validators of what was written; undefined when nothing changed since `known` */
export type Downloaded = Validators | undefined

/**
 * Fetches a source into a file.
 * @param key the licence key; it is sent to the host that the source names and to no other, and never shown
 * @param known what the last answer said of the file that is there
 * @throws InputError with the reason in words when it cannot be had
 */
export async function download(
  source: Source,
  key: string | undefined,
  known: Validators,
  path: string,
  options: DownloadOptions,
): Promise<Downloaded> {
  const { limits } = options
  const signal = AbortSignal.timeout(limits.timeoutMs)
  try {
    const response = await request(source, key, known, options, signal)
    if (response.status === 304) {
      await response.body?.cancel()
      return undefined
    }
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new InputError(`the server answered ${response.status} ${response.statusText}`.trim())
    }
    await write(response, path, limits.bytesMax)
    return {
      etag: response.headers.get('etag') ?? undefined,
      lastModified: response.headers.get('last-modified') ?? undefined,
    }
  } catch (error) {
    if (error instanceof InputError) throw error
    if (signal.aborted) throw new InputError(`it took longer than ${limits.timeoutMs} ms`)
    const { message, cause } = error as Error
    throw new InputError(`it cannot be fetched: ${cause instanceof Error && cause.message ? cause.message : message}`)
  }
}

async function request(
  source: Source,
  key: string | undefined,
  known: Validators,
  { nowMs, limits }: DownloadOptions,
  signal: AbortSignal,
): Promise<Response> {
  const month = new Date(nowMs).toISOString().slice(0, 7)
  let url = new URL(source.url.replaceAll('{key}', encodeURIComponent(key ?? '')).replaceAll('{month}', month))
  const { origin } = url
  for (let redirects = 0; ; redirects++) {
    const headers = { ...conditions(known), ...(url.origin === origin ? authorization(source, key) : {}) }
    const response = await fetch(url.href, { headers, redirect: 'manual', signal })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status === 304 || response.status > 399 || location === null) return response
    await response.body?.cancel()
    if (redirects === limits.redirectsMax) throw new InputError(`it redirects more than ${limits.redirectsMax} times`)
    const next = URL.canParse(location, url.href) ? new URL(location, url.href) : undefined
    const isSafe = next?.protocol === 'https:' || (next?.protocol === 'http:' && url.protocol === 'http:')
    if (next === undefined || !isSafe) throw new InputError(`it redirects to ${next?.protocol ?? 'no URL'}`)
    next.username = ''
    next.password = ''
    url = next
  }
}

function conditions({ etag, lastModified }: Validators): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': 'ipid' }
  if (etag !== undefined) headers['if-none-match'] = etag
  if (lastModified !== undefined) headers['if-modified-since'] = lastModified
  return headers
}

function authorization({ url, keyUser }: Source, key: string | undefined): Record<string, string> {
  if (key === undefined || url.includes('{key}')) return {}
  if (keyUser === undefined) return { authorization: `Bearer ${key}` }
  return { authorization: `Basic ${Buffer.from(`${keyUser}:${key}`).toString('base64')}` }
}

async function write(response: Response, path: string, bytesMax: number): Promise<void> {
  const { headers } = response
  if (!headers.has('content-length') && !headers.has('transfer-encoding')) {
    await response.body?.cancel()
    throw new InputError('the server does not say where its answer ends: a part of it could pass for the whole')
  }
  const tooLarge = new InputError(`it is larger than ${bytesMax} bytes`)
  if (Number(headers.get('content-length') ?? 0) > bytesMax) {
    await response.body?.cancel()
    throw tooLarge
  }
  const file = await open(path, 'wx')
  try {
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > bytesMax) throw tooLarge
      await file.writeFile(chunk)
    }
  } finally {
    await file.close()
  }
}
