import type {
  CompaniesPage,
  CompaniesQuery,
  CompanyChoices,
  CompanyDetailsAnswer,
  CompanyDetailsBody,
  CompanyView,
  CountedCompany,
} from '../../../schemas/dashboard/companies.ts'
import type { CompanyAnswer } from '../../../schemas/dashboard/company.ts'

/** What is stored of one company; what today's data says of its addresses is not. */
export interface StoredCompany
  extends Omit<CompanyAnswer, 'networks' | 'cities' | 'located_events' | 'reason' | 'addresses'> {
  /** Those with the most events first, as they are stored. */
  readonly addresses: readonly { readonly ip: string; readonly events: number }[]
}

/**
 * The companies of a tenant, as they are stored. Views and days have been checked: dates exist, and lie between 1900 and 2299.
 * Every call rejects with `UnavailableError` when a table is missing, or does not
 * answer in time, all but `rows` with `BackpressureError` when too much is being asked, and none sees rows of another tenant.
 */
export interface CompanyStore {
  /** A page of a view, and how many companies all pages have. */
  page(tenantId: string, query: CompaniesQuery): Promise<CompaniesPage>
  /** Of some companies; those that are not there are left out. */
  details(tenantId: string, of: CompanyDetailsBody): Promise<CompanyDetailsAnswer>
  /**
   * All companies of a view, in its order, up to `COMPANY_LIMITS.exportRows`. What breaks off throws.
   * @param left breaks it off: nobody waits for more
   */
  rows(tenantId: string, view: CompanyView, left: AbortSignal): AsyncIterable<readonly CountedCompany[]>
  /** Another text when events were stored or removed since; cheap. */
  version(tenantId: string): Promise<string>
  /** Values that filters can have, those of most companies first. */
  choices(tenantId: string): Promise<CompanyChoices>
  /** @param days how many of the last days in which the company was seen; undefined when it is not there */
  company(tenantId: string, companyId: string, days: number): Promise<StoredCompany | undefined>
}
