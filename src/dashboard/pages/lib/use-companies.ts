import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { CompanyChoices, CompanyRow, CompanyView } from '../../../../schemas/companies.ts'
import type {
  CompaniesPage,
  CompaniesVersion,
  CompanyDetails,
  CompanyDetailsAnswer,
} from '../../../../schemas/dashboard/companies.ts'
import { ApiError, post } from './api.ts'
import { PAGE_ROWS } from './company-view.ts'
import { retryMs } from './retry.ts'
import { type Data, useData } from './use-data.ts'

const VERSION_MS = 2_000
/** Version of the companies of a workspace without an event. */
export const NO_EVENTS = '0'
const DETAILS_KEPT = 2_000

/** Minimum time between two reads. */
interface Pace {
  readonly minMs: number
  /** Pause as a multiple of the duration of a read, so that an open page costs a small part of a core. */
  readonly factor: number
}

/**
 * Reads data again when a version changes.
 * @param query parameters of the read
 * @param now current version; undefined: unknown, which does not cancel a planned read
 */
function useFollowing<T>(data: Data<T>, query: string, now: string | undefined, { minMs, factor }: Pace): void {
  const known = useRef(now)
  known.current = now ?? known.current
  const version = known.current
  const asked = useRef({ atMs: 0, tookMs: 0, version: undefined as string | undefined })
  useEffect(() => {
    asked.current.atMs = performance.now()
  }, [query])
  useEffect(() => {
    asked.current.tookMs = performance.now() - asked.current.atMs
  }, [data.value])
  useEffect(() => {
    if (version === undefined) return
    const { atMs, tookMs, version: last } = asked.current
    if (last === undefined) asked.current.version = version
    if (last === undefined || last === version) return
    const waitMs = Math.max(0, atMs + Math.max(minMs, factor * tookMs) - performance.now())
    const timer = setTimeout(() => {
      asked.current = { ...asked.current, atMs: performance.now(), version }
      data.reload()
    }, waitMs)
    return () => clearTimeout(timer)
  }, [version])
}

/** A page of companies that updates while it is visible. Its error may also come from the read of the version. `hasEvents` is undefined until that is read. */
export function useCompanies(
  tenant: string,
  view: CompanyView,
  page: number,
): Data<CompaniesPage> & { readonly hasEvents: boolean | undefined } {
  const path = `/api/tenants/${tenant}/companies`
  const query = { ...view, limit: PAGE_ROWS, offset: (page - 1) * PAGE_ROWS }
  const list = useData<CompaniesPage>(path, query)
  const { value: now, error } = useData<CompaniesVersion>(`${path}/version`, {}, VERSION_MS)
  useFollowing(list, JSON.stringify([tenant, query]), now?.version, { minMs: 2_000, factor: 4 })
  return { ...list, error: list.error ?? error, hasEvents: now && now.version !== NO_EVENTS }
}

/** Rows in the order that a person reads, and the differences of the newest answer. */
interface FrozenRows {
  readonly rows: readonly CompanyRow[]
  /** Companies of the newest answer that are not among the rows. */
  readonly newer: number
  /** Whether the newest answer has these rows in another order. */
  readonly isMoved: boolean
  /** Shows the next answer in its own order: after a change by the reader. */
  follow(): void
  /** Shows the newest answer. */
  show(): void
}

/** Keeps the order of a page of companies while its numbers change, so that no row moves under the pointer. */
export function useFrozenRows({ value, of }: Data<CompaniesPage>): FrozenRows {
  const before = useRef<CompaniesPage>()
  const kept = useRef<{ of: string | undefined; rows: readonly CompanyRow[] }>({ of: undefined, rows: [] })
  const [, setTurn] = useState(0)
  const latest = value?.rows ?? NO_ROWS
  const isFollowing = before.current !== undefined && before.current !== value
  if (isFollowing) before.current = undefined
  // Without rows nothing can move.
  if (isFollowing || kept.current.of !== of || kept.current.rows.length === 0) kept.current = { of, rows: latest }
  const now = new Map(latest.map((row) => [row.company_id, row]))
  const rows = kept.current.rows.map((row) => now.get(row.company_id) ?? row)
  kept.current = { of, rows }
  const shown = new Set(rows.map(({ company_id }) => company_id))
  return {
    rows,
    newer: latest.filter(({ company_id }) => !shown.has(company_id)).length,
    isMoved: latest.some(({ company_id }, i) => rows[i]?.company_id !== company_id),
    follow() {
      before.current = value
    },
    show() {
      kept.current = { of, rows: latest }
      setTurn((turn) => turn + 1)
    },
  }
}

const NO_ROWS: readonly CompanyRow[] = []

/**
 * Values for filters. The counts of each filter follow the other filters.
 * @param version reads them again when it changes; undefined: unknown
 */
export function useChoices(tenant: string, view: CompanyView, version: string | undefined): Data<CompanyChoices> {
  const { sort: _sort, direction: _direction, ...filter } = view
  const choices = useData<CompanyChoices>(`/api/tenants/${tenant}/companies/choices`, filter)
  useFollowing(choices, JSON.stringify([tenant, filter]), version, { minMs: 2_000, factor: 20 })
  return choices
}

/** Visits and addresses of rows. */
interface Details {
  of(row: CompanyRow): CompanyDetails | undefined
  /** Why values are missing; undefined when none are. */
  readonly error: ApiError | undefined
  /** Reads missing values again. */
  reload(): void
}

/** Reads visits and addresses of rows that are new or have more events than before. */
export function useDetails(tenant: string, rows: readonly CompanyRow[], { from, to }: CompanyView): Details {
  const known = useRef(new Map<string, { events: number; details: CompanyDetails }>())
  const [turn, setTurn] = useState(0)
  const [error, setError] = useState<ApiError>()
  const again = useCallback(() => setTurn((n) => n + 1), [])
  const key = (id: string) => JSON.stringify([tenant, id, from, to])
  const wanted = rows.filter(({ company_id, events }) => known.current.get(key(company_id))?.events !== events)
  const asking = wanted.map(({ company_id, events }) => `${company_id} ${events}`).join('\n')
  useEffect(() => {
    if (wanted.length === 0) return
    const leaving = new AbortController()
    let timer: number | undefined
    const askedMs = performance.now()
    const ask = async () => {
      const body = { companies: wanted.map(({ company_id }) => company_id), from, to }
      const answer = await post<CompanyDetailsAnswer>(`/api/tenants/${tenant}/companies/details`, body, leaving.signal)
      if (known.current.size > DETAILS_KEPT) known.current.clear()
      const events = new Map(wanted.map((row) => [row.company_id, row.events]))
      for (const details of answer.companies) {
        known.current.set(key(details.company_id), { events: events.get(details.company_id)!, details })
      }
    }
    const failed = (failure: unknown) => {
      if (leaving.signal.aborted) return
      const known = failure instanceof ApiError ? failure : new ApiError(0, String(failure))
      setError(known)
      const waitMs = retryMs(known.status, performance.now() - askedMs)
      if (waitMs !== undefined) timer = window.setTimeout(again, waitMs)
    }
    const found = () => {
      if (leaving.signal.aborted) return
      setError(undefined)
      again()
    }
    ask().then(found, failed)
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [asking, from, to, turn])
  return {
    of: ({ company_id }) => known.current.get(key(company_id))?.details,
    error: wanted.length > 0 ? error : undefined,
    reload: again,
  }
}
