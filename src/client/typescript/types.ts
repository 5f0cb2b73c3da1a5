/** A visitor event. Further keys are stored as they are. */
export interface VisitorEvent {
  /** IPv4 or IPv6 address of the visitor. */
  readonly ip: string
  /** Makes repeats harmless for 7 days; at most 256 characters. Default: a UUID that the client makes once. */
  readonly event_id?: string | undefined
  /** RFC 3339. Default: the time of `track`. */
  readonly timestamp?: string | Date | undefined
  /** At most 256 characters, as `account_id` and `platform`. */
  readonly event_type?: string | undefined
  /** Your identifier of the account. Default: derived from the organisation. */
  readonly account_id?: string | undefined
  /** A whole number; put other ids into `properties`. */
  readonly session_id?: number | undefined
  readonly platform?: string | undefined
  readonly properties?: unknown
  readonly user_properties?: unknown
  readonly [key: string]: unknown
}

export type Classification =
  | 'business'
  | 'education'
  | 'government'
  | 'isp'
  | 'hosting'
  | 'cloud'
  | 'cdn'
  | 'vpn'
  | 'bot'
  | 'reserved'

/** What is known of the organisation of an event. Unknown attributes are absent. */
export interface Enrichment {
  readonly business_name?: string
  readonly org_name?: string
  readonly hostname?: string
  readonly industry?: string
  readonly industry_category?: string
  readonly classification?: Classification
}

/** What the service answered for an event. */
export interface EventResult {
  readonly event_id: string
  /** The address as sent. */
  readonly ip: string
  /** `filtered` (infrastructure) and `invalid_ip` are not stored; a repeat is `ok`. */
  readonly status: 'ok' | 'filtered' | 'invalid_ip'
  readonly enrichment: Enrichment
  /** 0 to 100. */
  readonly quality: number
  /** The rule of the tenant that decided, if one did. */
  readonly rule?: string
}

/** Known attributes of an address. Unknown ones are absent. */
export interface LookupData extends Enrichment {
  readonly etld_plus_one?: string
  readonly domain?: string
  readonly description?: string
  readonly asn?: number
  readonly as_name?: string
  readonly network?: string
  readonly continent?: string
  readonly country?: string
  readonly country_code?: string
  readonly region?: string
  readonly city?: string
  readonly postal_code?: string
  readonly latitude?: number
  readonly longitude?: number
  readonly timezone?: string
}

export type Attribute = keyof LookupData

export interface LookupOptions {
  /** Attributes to include. Default: all. */
  readonly fields?: readonly Attribute[]
  /** Attributes to remove, even those in `fields`; `geo` removes all location attributes. */
  readonly redact?: readonly (Attribute | 'geo')[]
  readonly providers?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  /** 1 to 10,000 milliseconds per address. */
  readonly deadline_ms?: number
  /** 0 to 100; a result of lower quality is `insufficient_quality`. */
  readonly quality_min?: number
}

export interface LookupResult {
  readonly ip: string
  readonly tenant_id: string
  readonly quality: number
  readonly status: 'ok' | 'insufficient_quality'
  readonly data: LookupData
  /** Providers that did not answer before the deadline. */
  readonly partial?: readonly string[]
}

export interface Lookup extends LookupResult {
  readonly quota: {
    readonly daily_limit: number
    readonly daily_used: number
    readonly daily_remaining: number
    readonly reset_at: string
  }
}

/** One address of a bulk lookup. */
export type BulkResult = LookupResult | { readonly ip: string; readonly status: 'invalid_ip' }

export interface UploadOptions {
  /** Default: by the name of the file, `.csv` or else NDJSON. */
  readonly contentType?: 'application/x-ndjson' | 'text/csv'
  /** CSV: columns → keys of an event, such as `{ 'Visitor IP': 'ip' }`. */
  readonly map?: Readonly<Record<string, string>>
  /** CSV: how to read a date such as 01/02/2026. */
  readonly dateOrder?: 'dmy' | 'mdy'
  /** A name for the job, 1 to 64 characters. */
  readonly label?: string
  /** Sends the file again after an error, within 24 hours, without a second job. Default: one for each call. */
  readonly idempotencyKey?: string
}

/** An upload that is stored as a whole and will be processed. */
export interface AcceptedUpload {
  readonly job_id: string
  readonly status: 'queued'
  /** Lines, without blank ones. */
  readonly received: number
}

export interface JobSummary {
  readonly processed: number
  readonly valid_ips: number
  readonly identified_ips: number
  readonly rejected: number
  readonly filtered: number
  readonly invalid_ip: number
  readonly duplicates: number
  /** The first 100 bad lines. */
  readonly errors: readonly { readonly line: number; readonly detail: string }[]
  readonly [key: string]: unknown
}

/** A batch job. Newer services may send further fields. */
export interface Job {
  readonly job_id: string
  readonly status: 'queued' | 'running' | 'completed' | 'failed'
  readonly progress_pct: number
  readonly progress_current: number
  readonly progress_total: number
  readonly progress_message: string
  readonly rejected: number
  readonly rejected_reasons: readonly {
    readonly reason: string
    readonly count: number
    readonly lines: readonly number[]
  }[]
  readonly problem: string | null
  /** null until it is completed. */
  readonly result_summary: JobSummary | null
}

/** What became of an event. */
export interface EventFate {
  readonly event_id: string
  readonly status: ReceiptStatus
  /** Newest first. */
  readonly receipts: readonly EventReceipt[]
  /** Places that were not fully searched. */
  readonly incomplete?: readonly string[]
}

export type ReceiptStatus =
  | 'stored'
  | 'hidden'
  | 'in_progress'
  | 'dead'
  | 'duplicate'
  | 'filtered'
  | 'invalid_ip'
  | 'accepted'

export interface EventReceipt {
  readonly status: ReceiptStatus
  readonly received_at?: string
  readonly lane?: 'live' | 'batch'
  readonly request_id?: string
  readonly job_id?: string
  readonly classification?: string
  readonly reason?: string
  readonly dead_letter?: string
  readonly archived?: string
}

/** An organisation that visited. Unknown texts are empty. Newer services may send further fields. */
export interface Company {
  readonly company_id: string
  readonly name: string
  readonly domain: string
  readonly industry: string
  readonly industry_category: string
  readonly classification: string
  readonly country_code: string
  readonly first_seen: string
  readonly last_seen: string
  readonly events: number
  readonly visits: number
  readonly unique_ips: number
  readonly heat: number
  readonly quality: number
  readonly tags: readonly string[]
  readonly owner: string
  readonly status: string
}

/**
 * Filters of `GET /v1/companies`, such as `{ days: 30, country: ['DE', 'AT'], visits_min: 3 }`; `where` takes an expression and `segment` the
 * name of a saved one. `limit` is the size of a page.
 */
export type CompanyFilter = Readonly<Record<string, string | number | readonly (string | number)[] | undefined>>

interface Counted {
  readonly value: string
  readonly events: number
}

/** A company and its last days. */
export interface CompanyDetails {
  readonly company: Company
  readonly from: string
  readonly to: string
  readonly days: readonly { readonly day: string; readonly events: number; readonly visits: number }[]
  readonly pages: readonly Counted[]
  readonly referrers: readonly Counted[]
  readonly campaigns: readonly Counted[]
  readonly sources: readonly Counted[]
  readonly accounts: readonly Counted[]
  readonly event_types: readonly Counted[]
  readonly platforms: readonly Counted[]
}
