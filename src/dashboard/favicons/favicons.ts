import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import { DestinationRefusedError, type Destinations } from '../../alerts/sending/destinations.ts'
import { requestAt } from '../../alerts/sending/request-at.ts'
import { causeText } from '../../run/cause-text.ts'
import { type SlotLimits, TenantSlots } from '../../run/tenant-slots.ts'
import { timeLimit } from '../../run/time-limit.ts'
import { RepeatedLines } from '../../telemetry/logger.ts'
import type { IconCache } from './icon-cache.ts'
import { iconLinksOf } from './icon-links.ts'
import { imageTypeOf } from './image-type.ts'

interface FaviconsOptions {
  readonly cache: IconCache
  readonly destinations: Pick<Destinations, 'addressesOf'>
  readonly userAgent: string
  readonly log: Logger
  /** Where a domain's icon is asked for. Default: https. */
  readonly siteOf?: (domain: string) => string
  /** For all requests about one domain together. Default: `SEARCH_MS`. */
  readonly searchMs?: number
}

const SEARCH_MS = 6_000
const ICON_BYTES_MAX = 65_536
/** Icons are named in the head of a page. */
const PAGE_BYTES_MAX = 131_072
const REDIRECTS_MAX = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const DAY_MS = 86_400_000
const ICON_VALID_MS = 7 * DAY_MS
const NO_ICON_VALID_MS = DAY_MS
/** The site does not answer now. */
const NO_ANSWER_VALID_MS = 3_600_000
const NO_ICON = Buffer.alloc(0)
/** A complete name of two or more labels: no address, no port, no path. */
const DOMAIN = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/** Searches at other sites at a time. */
const SEARCHES: SlotLimits = {
  ...{ ofTenant: 4, all: 8, waitingOfTenant: 64, waitMaxMs: 20_000 },
  ...{ refusal: 'too many icons of companies are being fetched: try again in a few seconds', retrySeconds: 5 },
}

/** An image for a browser. */
export interface Favicon {
  readonly bytes: Buffer
  /** Its media type, by its bytes. */
  readonly type: string
}

/**
 * Icons of companies, from their own sites. Foreign servers choose their answers, so a search is limited in time, bytes, redirects and
 * number, it reaches public addresses only, and only raster images pass.
 */
export class Favicons {
  readonly #options: FaviconsOptions
  readonly #slots = new TenantSlots(SEARCHES)
  /** By tenant and domain: waits for a slot of the tenant. */
  readonly #questions = new Map<string, Promise<Buffer>>()
  /** By domain. */
  readonly #searches = new Map<string, Promise<Buffer>>()
  readonly #stopping = new AbortController()
  readonly #refused = new RepeatedLines()

  constructor(options: FaviconsOptions) {
    this.#options = options
  }

  /** Ends all searches. */
  stop(): void {
    this.#stopping.abort(new Error('the dashboard stops'))
  }

  /**
   * The icon of a domain; undefined when it has none.
   * @param tenantId the caller's: searches are shared fairly
   * @throws BackpressureError when too many searches run
   */
  async of(tenantId: string, text: string): Promise<Favicon | undefined> {
    const domain = text.toLowerCase()
    if (!DOMAIN.test(domain)) return undefined
    const bytes = (await this.#options.cache.get(domain)) ?? (await this.#question(tenantId, domain))
    // Also icons that were on disk.
    const type = imageTypeOf(bytes)
    return type === undefined ? undefined : { bytes, type }
  }

  /** One question for all callers of a tenant. Each tenant has its own queue, even for a domain that another one asked for. */
  #question(tenantId: string, domain: string): Promise<Buffer> {
    const { signal } = this.#stopping
    const ask = () => this.#slots.run(tenantId, () => this.#kept(domain), signal)
    return shared(this.#questions, `${tenantId}/${domain}`, ask)
  }

  /** The result of another tenant's search meanwhile, or else one search for all tenants. */
  async #kept(domain: string): Promise<Buffer> {
    const search = () => this.#searchAndKeep(domain)
    return (await this.#options.cache.get(domain)) ?? (await shared(this.#searches, domain, search))
  }

  async #searchAndKeep(domain: string): Promise<Buffer> {
    const { cache, log, siteOf = (name) => `https://${name}/`, searchMs = SEARCH_MS } = this.#options
    const { signal: stopping } = this.#stopping
    const limit = timeLimit(searchMs, stopping)
    try {
      const icon = await this.#search(new URL(siteOf(domain)), limit)
      await cache.put(domain, icon ?? NO_ICON, icon === undefined ? NO_ICON_VALID_MS : ICON_VALID_MS)
      return icon ?? NO_ICON
    } catch (error) {
      stopping.throwIfAborted()
      log.debug({ domain, reason: causeText(error) }, 'a site did not answer the question for its icon')
      await cache.put(domain, NO_ICON, NO_ANSWER_VALID_MS)
      return NO_ICON
    }
  }

  /** @throws Error when a server does not answer */
  async #search(site: URL, signal: AbortSignal): Promise<Buffer | undefined> {
    const usual = await this.#image(new URL('/favicon.ico', site), signal)
    if (usual !== undefined) return usual
    const page = await this.#get(site, 'text/html', PAGE_BYTES_MAX, signal)
    for (const href of iconLinksOf(page?.bytes.toString('utf8') ?? '')) {
      const url = targetOf(href, page!.url)
      const icon = url && (await this.#image(url, signal))
      if (icon !== undefined) return icon
    }
    return undefined
  }

  /** One line a minute at most: a network whose name servers lead every site to an inner address would fill the log. */
  #noteRefused(facts: { readonly host: string; readonly address: string }): void {
    const { log } = this.#options
    const what = 'the icon of a company is not at a public address'
    if (this.#refused.isNew(what, (repeated) => log.info({ repeated }, what))) log.info(facts, what)
  }

  async #image(url: URL, signal: AbortSignal): Promise<Buffer | undefined> {
    const got = await this.#get(url, 'image/*', ICON_BYTES_MAX, signal)
    return got === undefined || got.isCut || imageTypeOf(got.bytes) === undefined ? undefined : got.bytes
  }

  /** The beginning of the content at a URL, after redirects; undefined when it has none, or leads to a forbidden place. */
  async #get(first: URL, accept: string, bytesMax: number, signal: AbortSignal): Promise<Got | undefined> {
    const { destinations, userAgent } = this.#options
    // No cookie, no referrer, and the same for every site.
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': userAgent }
    let url: URL | undefined = first
    for (let redirects = 0; url !== undefined && redirects <= REDIRECTS_MAX; redirects++) {
      const at: URL = url
      try {
        // Each URL is checked anew: a redirect may lead into our network.
        const addresses = await destinations.addressesOf(at, signal)
        const answer = await requestAt(at, { method: 'GET', headers, addresses, signal }, async (response) => {
          const { statusCode = 0 } = response
          if (REDIRECTS.has(statusCode)) return response.headers.location
          return statusCode === 200 ? await beginOf(response, bytesMax) : undefined
        })
        if (answer === undefined) return undefined
        if (typeof answer !== 'string') return { ...answer, url: at }
        url = targetOf(answer, at)
      } catch (error) {
        if (!(error instanceof DestinationRefusedError)) throw error
        this.#noteRefused({ host: at.hostname, address: error.found })
        return undefined
      }
    }
    return undefined
  }
}

interface Got {
  readonly bytes: Buffer
  /** Whether there is more. */
  readonly isCut: boolean
  /** After redirects. */
  readonly url: URL
}

/** The work in progress for a key, or else new work. */
function shared<T>(inProgress: Map<string, Promise<T>>, key: string, work: () => Promise<T>): Promise<T> {
  let one = inProgress.get(key)
  if (one === undefined) {
    one = work().finally(() => inProgress.delete(key))
    inProgress.set(key, one)
  }
  return one
}

/** The target of a link or redirect. Undefined: from https to http, or to another port, which may be another service's. */
function targetOf(href: string, base: URL): URL | undefined {
  if (!URL.canParse(href, base.href)) return undefined
  const url = new URL(href, base)
  const isAllowed = url.protocol === base.protocol && url.port === base.port && url.username + url.password === ''
  return isAllowed ? url : undefined
}

async function beginOf(response: IncomingMessage, bytesMax: number): Promise<Omit<Got, 'url'>> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    pieces.push(piece)
    length += piece.length
    if (length > bytesMax) break
  }
  return { bytes: Buffer.concat(pieces).subarray(0, bytesMax), isCut: length > bytesMax }
}
