import type { FitLevel } from '../../../../schemas/companies.ts'
import type { PageRow } from '../../../../schemas/dashboard/pages.ts'
import type { RangeName } from '../design/ranges.ts'
import { ALL_TIME, NOT_KNOWN } from './company-view.ts'

type ListedPage = Pick<PageRow, 'host' | 'path'>

/** Filters of the list of companies that other pages link to. */
interface ListFilter {
  /** A span by name, which moves on, or days. Without any: all time. */
  readonly when?: RangeName
  readonly from?: string
  readonly to?: string
  /** First day of companies that are new. */
  readonly newSince?: string
  /** The same as a number of last days. */
  readonly newDays?: number
  /** A page that they read: as text of the filter, or as Pages lists it. */
  readonly page?: string | ListedPage
  /** By the first or the last touch; `''` is an unknown channel. */
  readonly touch?: { readonly by: `${'first' | 'last'}_${'channel' | 'campaign'}`; readonly value: string }
  readonly fit?: FitLevel
  readonly sort?: 'visits' | 'events' | 'last_seen'
}

/** URL of a company's page. */
export function companyPath(tenant: string, companyId: string): string {
  return `/t/${tenant}/companies/of?${new URLSearchParams({ id: companyId })}`
}

/** URL of a company's favicon, at our server. */
export function companyIconPath(tenant: string, companyId: string): string {
  return `/api/tenants/${tenant}/companies/of/${encodeURIComponent(companyId)}/icon`
}

/** URL of the list of companies with filters. They keep exactly these companies. */
export function companiesPath(tenant: string, { newSince, newDays, page, touch, ...others }: ListFilter): string {
  const query = new URLSearchParams()
  const { from, to, when = from === undefined && to === undefined ? ALL_TIME : undefined, fit, sort } = others
  const news = { new: newSince, new_days: newDays }
  const values = { from, to, when, ...news, page_is: typeof page === 'object' ? exactPage(page) : page, fit, sort }
  if (touch !== undefined) query.set(touch.by, touch.value || NOT_KNOWN)
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  return `/t/${tenant}/companies?${query}`
}

/** The text of a page in a filter. A page without a host has `-` in its place. */
function exactPage({ host, path }: ListedPage): string {
  return `${host === '' ? NOT_KNOWN : host}${path}`
}

/** The site of a company by its domain; undefined when the domain is none that a link can open. */
export function siteUrl(domain: string): string | undefined {
  const url = `https://${domain}`
  // A source may send any text as a domain.
  const isHost = /^[^\s/?#@:\\]+$/.test(domain) && domain.slice(1, -1).includes('.')
  if (!isHost || !URL.canParse(url)) return undefined
  return new URL(url).href
}

/** A search of LinkedIn by the name of a company. */
export function linkedInSearch(kind: 'companies' | 'people', name: string): string {
  return `https://www.linkedin.com/search/results/${kind}/?${new URLSearchParams({ keywords: name })}`
}
