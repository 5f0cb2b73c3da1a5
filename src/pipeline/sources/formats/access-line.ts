import { type JsonObject, labelOf, pageOf, type ToolEvent, unlessEmpty } from '../tools/tool-event.ts'
import type { LineResult } from './line-format.ts'

/**
 * A request as a web server or a proxy logs it. `-` and `''` mean that a text is missing. Undefined: the log does not have the field.
 */
export interface AccessLine {
  readonly ip: string | undefined
  /** RFC 3339 */
  readonly timestamp: string
  readonly method: string
  /** 0 when unknown */
  readonly status: number
  /** Absolute, or a path; with its query. */
  readonly url: string | undefined
  readonly bytes?: number | undefined
  readonly referrer?: string | undefined
  readonly userAgent?: string | undefined
  readonly contentType?: string | undefined
  /** Unique for the request. */
  readonly requestId?: string | undefined
  /** Further fields of the log. They become properties. */
  readonly others?: JsonObject | undefined
}

/** For a request that read no page. */
export const NO_PAGE_VIEW: LineResult = { skipped: 'no page view' }
const NO_USER_AGENT: LineResult = { skipped: 'no user agent' }

/**
 * Requests for no page, and those whose log names no user agent where it has one, are no page views: every browser sends one.
 * @param all false: only page views become events
 */
export function accessEvent(line: AccessLine, all: boolean): LineResult {
  const userAgent = given(line.userAgent)
  const isRead = isPageView(line)
  const isPage = isRead && (userAgent !== undefined || line.userAgent === undefined)
  if (!isPage && !all) return isRead ? NO_USER_AGENT : NO_PAGE_VIEW
  const { method, status, bytes, others } = line
  const properties: Record<string, unknown> = {}
  if (method !== '') properties.method = method
  if (status !== 0) properties.status = status
  if (bytes !== undefined && !Number.isNaN(bytes)) properties.bytes = bytes
  if (userAgent !== undefined) properties.user_agent = userAgent
  const event: ToolEvent = {
    event_id: line.requestId,
    timestamp: line.timestamp,
    event_type: isPage ? 'page' : 'request',
    platform: 'web',
    properties: unlessEmpty(others === undefined ? properties : { ...properties, ...others }),
    page: pageOf(given(line.url), given(line.referrer)),
    ip: given(line.ip),
  }
  return { event }
}

/** The text; undefined when it means a missing one. */
export function given(text: string | undefined): string | undefined {
  return text === '-' || text === '' ? undefined : text
}

/** A text of JSON, or `-` when it is missing; undefined when the log does not have the key. */
export function labelIn(record: JsonObject, key: string): string | undefined {
  return key in record ? (labelOf(record[key]) ?? '-') : undefined
}

/** Endings of files that a page loads, and of files for programs. A PDF is not one: people read it. */
const ASSETS = new Set(
  (
    'css js mjs cjs map json xml txt ico png jpg jpeg jpe gif svg svgz webp avif bmp tif tiff apng heic ' +
    'woff woff2 ttf otf eot mp3 mp4 m4a m4s m4v webm ogg oga ogv wav flac mov avi mkv mpg mpeg ts m3u8 mpd vtt srt ' +
    'zip gz tgz bz2 xz zst 7z rar tar jar iso dmg exe msi deb rpm apk wasm webmanifest rss atom swf cur lottie br'
  ).split(' '),
)
const LONGEST_ASSET_CHARS = Math.max(...[...ASSETS].map(({ length }) => length))
const PAGE_TYPE = /^(?:text\/html|application\/(?:xhtml\+xml|pdf))\b/i

/** What of a request says whether it is a page view. Undefined: the log does not have it. */
export interface RequestFacts {
  readonly method?: string | undefined
  readonly status?: number | undefined
  readonly url?: string | undefined
  readonly contentType?: string | undefined
}

/** Somebody asked for a page and got it. HEAD requests come from monitors and link checkers. */
export function isPageView({ method, status, url, contentType }: RequestFacts): boolean {
  if (method !== undefined && method !== 'GET') return false
  if (status !== undefined && (status < 200 || status > 299) && status !== 304) return false
  const type = given(contentType)
  return type === undefined ? !isAsset(url ?? '') : PAGE_TYPE.test(type)
}

function isAsset(url: string): boolean {
  let end = url.length
  for (const mark of ['?', '#']) {
    const at = url.indexOf(mark)
    if (at >= 0 && at < end) end = at
  }
  const dot = url.lastIndexOf('.', end)
  if (dot < 0 || end - dot - 1 > LONGEST_ASSET_CHARS || url.lastIndexOf('/', end - 1) > dot) return false
  return ASSETS.has(url.slice(dot + 1, end).toLowerCase())
}

/** An absolute URL where the log names the host; otherwise the path. Default ports are left out. */
export function urlOf(scheme: string | undefined, host: string | undefined, path: string): string {
  const name = given(host)
  if (name === undefined || !path.startsWith('/')) return path
  const protocol = given(scheme) ?? (name.endsWith(':80') ? 'http' : 'https')
  const port = protocol === 'https' ? ':443' : ':80'
  return `${protocol}://${name.endsWith(port) ? name.slice(0, -port.length) : name}${path}`
}
