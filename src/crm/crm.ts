import type { CrmRefusal } from '../../schemas/crm.ts'
import type { BroughtFact } from '../companies/corrections/corrections.ts'

/** A company as a CRM gets it. */
export interface OutgoingCompany {
  readonly company_id: string
  /** Only for a company that the CRM does not have yet. */
  readonly name: string
  /** Registrable, and of no other outgoing company. */
  readonly domain: string
  /** ISO 8601, UTC. */
  readonly last_visit: string
  readonly visits: number
  /** 0 to 100. */
  readonly heat: number
  /** Pages of the last 30 days, those with the most visits first. */
  readonly pages: readonly string[]
  /** Names of the segments that it is in. */
  readonly segments: readonly string[]
}

/** What became of some companies: each is in one of the counts. */
export interface SyncedCompanies {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: readonly CrmRefusal[]
  /** What people set in the CRM. An empty value: they removed it. */
  readonly brought: readonly BroughtFact[]
}

/**
 * A CRM of a tenant. `sync` must be safe to repeat after a crash at any moment: it reads what the CRM has before it writes, and creates
 * under a key that the CRM accepts once. All calls throw `CrmStoppedError`, `CrmBusyError`, or another error that may pass.
 */
export interface Crm {
  /** Companies that `sync` takes at most. */
  readonly companiesMax: number
  /** Once for each run, before the first `sync`: checks the token, and creates what the records need. */
  begin(signal: AbortSignal): Promise<void>
  /** @param isSent whether a company is sent at all, for records that belong to another company */
  sync(
    companies: readonly OutgoingCompany[],
    isSent: (companyId: string) => boolean,
    signal: AbortSignal,
  ): Promise<SyncedCompanies>
}

/** A person must do something first. The message says what. */
export class CrmStoppedError extends Error {
  override name = 'CrmStoppedError'
}

/** The CRM asks to wait. */
export class CrmBusyError extends Error {
  override name = 'CrmBusyError'
  readonly waitMs: number

  constructor(message: string, waitMs: number) {
    super(message)
    this.waitMs = waitMs
  }
}
