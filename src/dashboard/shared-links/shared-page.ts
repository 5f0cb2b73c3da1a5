import { COMPANY_LIMITS, type CompanyFilter, type CompanyRow } from '../../../schemas/companies.ts'
import type { CompanyDetails } from '../../../schemas/dashboard/companies.ts'
import type { SharedColumn } from '../../../schemas/dashboard/shared-columns.ts'
import type { ClickHouseCompanies } from '../../companies/companies.ts'
import { COLUMN_TITLES } from '../../companies/csv.ts'
import type { Segments } from '../../companies/segments/segments.ts'
import { parseWhere } from '../../companies/where.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { forCaller } from '../../run/caller.ts'
import type { Clock } from '../../run/clock.ts'
import { escaped } from '../../run/escaped.ts'
import { keys } from '../../stores/redis/keys.ts'
import { NO_CHANGE, type TokenCounter, type TokenCounters } from '../../tenants/limits/shared-tokens.ts'
import { TENANT_ID, type Tenant, zoneOfTenant } from '../../tenants/tenancy.ts'
import { day, number } from '../pages/lib/format.ts'
import { counted } from '../pages/texts/en/counted.ts'
import { withBody } from '../server/sign-in-page.ts'
import type { SharedLink } from './redis/link-store.ts'
import { idOf, type SharedLinks } from './shared-links.ts'

interface SharedPageOptions {
  readonly links: Pick<SharedLinks, 'find' | 'used'>
  readonly companies: Pick<ClickHouseCompanies, 'page' | 'details' | 'rowsOf' | 'daysOf'>
  readonly segments: Pick<Segments, 'get'>
  readonly findTenant: (id: string) => Promise<Tenant | undefined>
  readonly counters: Pick<TokenCounters, 'take'>
  readonly clock: Clock
  /** Default: `LIMITS`. */
  readonly limits?: typeof LIMITS
}

/** Limits of each link. */
const LIMITS = {
  /** Requests at once, and per second on average. */
  requests: { size: 60, rate: 1 },
  /** On a UTC day. A page of a list has about 20 KB. */
  bytesOfDay: 50 * 2 ** 20,
}
const DAY_MS = 86_400_000
const PAGE_ROWS = COMPANY_LIMITS.pageRows
/** As the other pages: CSV keeps the title that programs know. */
const TITLES = { ...COLUMN_TITLES, classification: 'Type' }

/** Caches may not keep the page, and search engines may not list it. The other headers are those of all pages. */
const HEADERS = {
  'cache-control': 'no-store, private',
  'x-robots-tag': 'noindex, nofollow, noarchive, nosnippet',
} as const

/** What a page shows of a company. */
interface Shown extends CompanyRow {
  readonly visits: number
  readonly heat: number
}

/** The pages of shared links, for people without an account: without scripts, and for reading only. */
export class SharedPages {
  readonly #options: SharedPageOptions

  constructor(options: SharedPageOptions) {
    this.#options = options
  }

  /** `GET /shared/:tenant/:secret`; `?page=2` is a later page of a list. A link that does not work has one answer, whatever the reason. */
  async open(exchange: Exchange, index: string): Promise<HttpResponse> {
    const { links, limits = LIMITS } = this.#options
    const [id = '', secret = ''] = exchange.request.parameters
    const tenant = await this.#tenant(id)
    const link = tenant && (await links.find(tenant, secret))
    if (tenant === undefined || link === undefined) return gone(index)
    const of = idOf(link)
    if (!(await this.#takes({ key: keys.tokens(tenant.id, 'shared-link', of), ...limits.requests }, 1)))
      return busy(index, 60)
    const body = await forCaller(exchange.left, () =>
      'company_id' in link.target
        ? this.#company(tenant, link, link.target.company_id)
        : this.#list(tenant, link, pageOf(exchange.request.query)),
    )
    if (body === undefined) return gone(index)
    const html = documentOf(index, link.name, `${body}${footOf(link)}`)
    const bytes = {
      ...{ key: keys.tokens(tenant.id, 'shared-bytes', of, this.#today()), size: limits.bytesOfDay, rate: 0 },
      keptMs: 2 * DAY_MS,
    }
    if (!(await this.#takes(bytes, Buffer.byteLength(html)))) return busy(index, 3_600)
    await links.used(tenant, link)
    return { status: 200, type: 'text/html; charset=utf-8', body: html, headers: HEADERS }
  }

  async #tenant(id: string): Promise<Tenant | undefined> {
    const tenant = TENANT_ID.test(id) ? await this.#options.findTenant(id) : undefined
    return tenant?.deleting ? undefined : tenant
  }

  async #takes(counter: TokenCounter, tokens: number): Promise<boolean> {
    const [grant] = this.#options.counters.take([{ counter, tokens: [tokens], change: NO_CHANGE }])
    return (await grant!).allowed[0]!
  }

  #today(): string {
    return new Date(this.#options.clock.now()).toISOString().slice(0, 10)
  }

  /** Undefined when its segment is gone. */
  async #filterOf(tenant: Tenant, { target }: SharedLink): Promise<CompanyFilter | undefined> {
    if ('where' in target) return parseWhere(target.where)
    if (!('segment_id' in target)) return undefined
    const segment = await this.#options.segments.get(tenant.id, target.segment_id)
    return segment && parseWhere(segment.where)
  }

  async #list(tenant: Tenant, link: SharedLink, page: number): Promise<string | undefined> {
    const { companies } = this.#options
    const filter = await this.#filterOf(tenant, link)
    if (filter === undefined) return undefined
    const { sort = 'last_seen', direction = 'desc', columns, name } = link
    const view = { ...filter, sort, direction, limit: PAGE_ROWS, offset: (page - 1) * PAGE_ROWS }
    const { rows, total } = await companies.page(tenant.id, view)
    const days = { days: filter.days, from: filter.from, to: filter.to }
    const details = columns.includes('visits') || columns.includes('heat')
    const found =
      details && rows.length > 0
        ? (await companies.details(tenant.id, { companies: rows.map((row) => row.company_id), ...days })).companies
        : []
    const known = new Map(found.map((one) => [one.company_id, one]))
    const shown = rows.map((row) => shownOf(row, known.get(row.company_id)))
    const { from, to } = await companies.daysOf(tenant.id, filter)
    const span = from === undefined ? 'of all time' : `from ${day(from)} to ${day(to)}${ofZone(tenant)}`
    return `
<header><h1>${escaped(name)}</h1><p>${counted(total, 'company', 'companies')}. Visits and events are those ${span}.</p></header>
${rows.length === 0 ? '<p>No company is on this page.</p>' : tableOf(name, columns, shown)}
${pagerOf(page, total)}`
  }

  async #company(tenant: Tenant, link: SharedLink, companyId: string): Promise<string | undefined> {
    const { companies } = this.#options
    const [row] = await companies.rowsOf(tenant.id, [companyId])
    if (row === undefined || row.hidden) return undefined
    const { companies: found, days } = await companies.details(tenant.id, { companies: [companyId] })
    const company = shownOf(row, found[0])
    const { columns } = link
    const facts = columns.map((name) => `<div><dt>${TITLES[name]}</dt><dd>${cellOf(name, company)}</dd></div>`)
    const visits = columns.includes('visits') ? barsOf(found[0]?.daily_visits ?? [], days, ofZone(tenant)) : ''
    const title = link.name === company.name ? '' : `<p>${escaped(company.name)}</p>`
    return `<header><h1>${escaped(link.name)}</h1>${title}</header><dl>${facts.join('')}</dl>${visits}`
  }
}

/** The page is for readers of any zone, and has no script that knows theirs. */
function ofZone(tenant: Tenant): string {
  return `, by days of ${zoneOfTenant(tenant)}`
}

const BAR_PX = 64

/** The visits of each day as bars. */
function barsOf(visits: readonly number[], [from, to]: readonly [string, string], zone: string): string {
  const most = Math.max(1, ...visits)
  const bars = visits.map((count, i) => {
    const height = (count / most) * BAR_PX
    return `<rect x="${i * 10}" y="${BAR_PX - height}" width="8" height="${height}"/>`
  })
  const sum = visits.reduce((total, count) => total + count, 0)
  const about = `${counted(sum, 'visit')} from ${day(from)} to ${day(to)}`
  return `<figure><svg viewBox="0 0 ${visits.length * 10} ${BAR_PX}" role="img" aria-label="${about}">${bars.join('')}</svg>
<figcaption>${about}${zone}.</figcaption></figure>`
}

function shownOf(row: CompanyRow, details: CompanyDetails | undefined): Shown {
  return { ...row, visits: details?.visits ?? 0, heat: details?.heat?.heat ?? 0 }
}

function tableOf(name: string, columns: readonly SharedColumn[], rows: readonly Shown[]): string {
  const kind = (column: SharedColumn) =>
    NUMBERS.includes(column) ? ' class="is-number"' : DAYS.includes(column) ? ' class="is-day"' : ''
  const head = columns.map((column) => `<th scope="col"${kind(column)}>${TITLES[column]}</th>`)
  const lines = rows.map((row) => {
    const cells = columns.map(
      (column) => `<td data-label="${TITLES[column]}"${kind(column)}>${cellOf(column, row)}</td>`,
    )
    return `<tr><th scope="row">${escaped(row.name)}</th>${cells.join('')}</tr>`
  })
  return `<div class="ui-shared-scroll" role="region" aria-label="${escaped(name)}" tabindex="0"><table>
<thead><tr><th scope="col">${TITLES.name}</th>${head.join('')}</tr></thead>
<tbody>${lines.join('')}</tbody></table></div>`
}

const NUMBERS: readonly SharedColumn[] = ['heat', 'visits', 'events']
const DAYS: readonly SharedColumn[] = ['first_seen', 'last_seen']
const countries = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' })

function cellOf(column: SharedColumn, row: Shown): string {
  const value = row[column]
  if (typeof value === 'number') return number(value)
  if (DAYS.includes(column)) return day(value.slice(0, 10))
  if (column === 'country_code' && /^[A-Z]{2}$/.test(value)) return escaped(countries.of(value) ?? value)
  return value === '' ? '–' : escaped(value)
}

function pagerOf(page: number, total: number): string {
  const last = Math.ceil(total / PAGE_ROWS)
  if (last <= 1) return ''
  const link = (to: number, text: string) => (to < 1 || to > last ? '' : `<a href="?page=${to}">${text}</a>`)
  return `<nav aria-label="Pages">${link(page - 1, 'Previous')}<span>Page ${number(page)} of ${number(last)}</span>${link(page + 1, 'Next')}</nav>`
}

function pageOf(query: string): number {
  const page = Number(new URLSearchParams(query).get('page') ?? 1)
  return Number.isInteger(page) && page > 0 && page * PAGE_ROWS <= COMPANY_LIMITS.offsetMax ? page : 1
}

function footOf({ expires_at }: SharedLink): string {
  const end = expires_at === null ? '' : ` This link works until ${day(expires_at.slice(0, 10))}.`
  return `<footer><p>Shared with ipid, for reading only.${end}</p></footer>`
}

function documentOf(index: string, title: string, content: string): string {
  const head = index.replace(/<title>[\s\S]*?<\/title>/, () => `<title>${escaped(title)}</title>`)
  return withBody(head, `<main class="ui-shared">${content}</main>`)
}

function gone(index: string): HttpResponse {
  const text = 'It has ended or was revoked, or a part of it is missing. Ask the person who sent it for a new one.'
  const body = documentOf(index, 'ipid', `<header><h1>This link does not work</h1><p>${text}</p></header>`)
  return { status: 404, type: 'text/html; charset=utf-8', body, headers: HEADERS }
}

/** A person reads the page, so it says when to come back. */
function busy(index: string, seconds: number): HttpResponse {
  const when = seconds > 60 ? 'tomorrow' : 'in a minute'
  const text = `This link was opened very often. Try again ${when}.`
  const body = documentOf(index, 'ipid', `<header><h1>Too many requests</h1><p>${text}</p></header>`)
  const headers = { ...HEADERS, 'retry-after': String(seconds) }
  return { status: 429, type: 'text/html; charset=utf-8', body, headers }
}
