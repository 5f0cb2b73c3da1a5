import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { causeText } from '../../../run/cause-text.ts'
import { InputError } from '../../../run/errors.ts'
import type { Source } from './sources.ts'

/** Limits of a download. At a limit, the old file stays in place. */
export interface UpdateLimits {
  /** Size of the fetched file, and of the unpacked one, bytes. */
  readonly bytesMax: number
  /** Time for one file, milliseconds. */
  readonly timeoutMs: number
  readonly redirectsMax: number
}

export const DEFAULT_UPDATE_LIMITS: UpdateLimits = {
  bytesMax: 2_147_483_647,
  timeoutMs: 600_000,
  redirectsMax: 5,
}

/** HTTP validators of a version of a file. */
export interface Validators {
  readonly etag?: string
  readonly lastModified?: string
}

interface DownloadOptions {
  /** Milliseconds since the Unix epoch, for `{month}` in a URL. */
  readonly nowMs: number
  readonly limits: UpdateLimits
}

/** The validators of the written file; undefined when nothing changed since `known`. */
type Downloaded = Validators | undefined

/**
 * Fetches a source into a file.
 * @param key the licence key; sent only to the host in the source's URL, and never shown
 * @param known the validators of the existing file
 * @throws InputError with the reason when the download fails
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
    try {
      const { statusCode, statusMessage = '', headers } = response
      if (statusCode === 304) return undefined
      if (statusCode !== 200) throw new InputError(`the server answered ${statusCode} ${statusMessage}`.trim())
      await write(response, path, limits.bytesMax)
      return { etag: headers.etag, lastModified: headers['last-modified'] }
    } finally {
      response.destroy()
    }
  } catch (error) {
    if (error instanceof InputError) throw error
    if (signal.aborted) throw new InputError(`the download took longer than ${limits.timeoutMs} ms`)
    throw new InputError(`it cannot be fetched: ${causeText(error)}`)
  }
}

async function request(
  source: Source,
  key: string | undefined,
  known: Validators,
  { nowMs, limits }: DownloadOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const month = new Date(nowMs).toISOString().slice(0, 7)
  let url = new URL(source.url.replaceAll('{key}', encodeURIComponent(key ?? '')).replaceAll('{month}', month))
  const { origin } = url
  for (let redirects = 0; ; redirects++) {
    const headers = { ...conditions(known), ...(url.origin === origin ? authorization(source, key) : {}) }
    const response = await send(url, headers, signal)
    const { statusCode: status = 0 } = response
    const { location } = response.headers
    if (status < 300 || status === 304 || status > 399 || location === undefined) return response
    response.destroy()
    if (redirects === limits.redirectsMax) throw new InputError(`it redirects more than ${limits.redirectsMax} times`)
    const next = URL.canParse(location, url.href) ? new URL(location, url.href) : undefined
    const isSafe = next?.protocol === 'https:' || (next?.protocol === 'http:' && url.protocol === 'http:')
    if (next === undefined || !isSafe) throw new InputError(`it redirects to ${next?.protocol ?? 'no URL'}`)
    next.username = ''
    next.password = ''
    url = next
  }
}

/** Does not use `fetch`, which accepts a truncated compressed response as complete. */
async function send(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
  const ask = url.protocol === 'https:' ? requestHttps : requestHttp
  const request = ask(url, { headers, signal })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  // The reader of the body gets later errors.
  request.on('error', () => {})
  return response
}

function conditions({ etag, lastModified }: Validators): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': 'ipid', 'accept-encoding': 'identity' }
  if (etag !== undefined) headers['if-none-match'] = etag
  if (lastModified !== undefined) headers['if-modified-since'] = lastModified
  return headers
}

function authorization({ url, keyUser }: Source, key: string | undefined): Record<string, string> {
  if (key === undefined || url.includes('{key}')) return {}
  if (keyUser === undefined) return { authorization: `Bearer ${key}` }
  return { authorization: `Basic ${Buffer.from(`${keyUser}:${key}`).toString('base64')}` }
}

async function write(response: IncomingMessage, path: string, bytesMax: number): Promise<void> {
  const { headers } = response
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
    throw new InputError('the server does not state the length of its response, so a truncated one cannot be detected')
  }
  const tooLarge = new InputError(`it is larger than ${bytesMax} bytes`)
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge
  const body = decoded(response)
  const file = await open(path, 'wx')
  try {
    let size = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > bytesMax) throw tooLarge
      await file.writeFile(chunk)
    }
  } finally {
    await file.close()
  }
}

/** Decodes the body: some servers compress it unasked. Detects a truncated body. */
function decoded(response: IncomingMessage): Readable {
  const coding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (coding === 'identity') return response
  const decoder = decoderOf(coding)
  // The reader of the decoder gets the errors.
  pipeline(response, decoder, () => {})
  return decoder
}

function decoderOf(coding: string) {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    case 'br':
      return createBrotliDecompress()
    default:
      throw new InputError(`the server encodes its response as ${coding}, which is not supported`)
  }
}
