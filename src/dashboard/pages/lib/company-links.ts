/** Filters of the list of companies that other pages link to. */
interface ListFilter {
  readonly from?: string
  readonly to?: string
  /** First UTC day of companies that are new. */
  readonly newSince?: string
  /** A part of the URL of a page that they read. */
  readonly page?: string
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

/** URL of the list of companies with filters. */
export function companiesPath(tenant: string, { from, to, newSince, page, sort }: ListFilter): string {
  const query = new URLSearchParams()
  const values = { from, to, new: newSince, at: page, sort }
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value)
  return `/t/${tenant}/companies?${query}`
}

/** URL of the list of pages. */
export function pagesPath(tenant: string, search = ''): string {
  return `/t/${tenant}/pages${search === '' ? '' : `?${new URLSearchParams({ q: search })}`}`
}
