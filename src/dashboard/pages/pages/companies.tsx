import { useEffect, useRef } from 'preact/hooks'
import type { CompanyRow } from '../../../../schemas/companies.ts'
import { CompanyTable } from '../components/company-table.tsx'
import { Filters } from '../components/filters.tsx'
import { FirstEvent } from '../components/first-event.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Loading } from '../design/skeleton.tsx'
import { queryText } from '../lib/api.ts'
import { COLUMNS, PAGE_ROWS, pageOf, rememberList, viewOf } from '../lib/company-view.ts'
import { counted, number } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useChoices, useCompanies, useDetails } from '../lib/use-companies.ts'

const NO_ROWS: readonly CompanyRow[] = []

/** Table of all companies. It updates as events arrive. */
export function Companies({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const openedAt = useRef(new Date().toISOString())
  const [state, set] = useUrlState()
  const view = viewOf(state)
  const search = state.toString()
  useEffect(() => rememberList(tenant, search), [tenant, search])
  const page = pageOf(state)
  const list = useCompanies(tenant, view, page)
  const isFiltered = Object.entries(view).some(
    ([name, value]) => value !== undefined && name !== 'sort' && name !== 'direction',
  )
  const choices = useChoices(tenant, isFiltered || list.value === undefined ? undefined : String(list.value.total))
  const rows = list.value?.rows ?? NO_ROWS
  const details = useDetails(tenant, rows, view)
  const total = list.value?.total ?? 0
  const error = list.error ?? details.error ?? choices.error
  const reload = () => {
    list.reload()
    details.reload()
    choices.reload()
  }
  const hidden = new Set((state.get('hide') ?? '').split(',').filter((name) => name !== ''))
  return (
    <>
      <h1>Companies</h1>
      <p class="soft">An event counts on its own day (UTC), whenever it was received. Times are of your time zone.</p>
      <Filters state={state} choices={choices.value} set={set} />
      <div class="row between">
        <p class="total" role="status">
          {list.value === undefined ? ' ' : counted(total, 'company', 'companies')}
          {list.isLoading && list.value !== undefined ? ' · loading…' : ''}
        </p>
        <div class="row tools">
          <ColumnChoice hidden={hidden} onChange={(names) => set({ hide: names.join(',') }, true)} />
          {isFiltered && (
            <button type="button" onClick={() => set(CLEARED)}>
              Clear filters
            </button>
          )}
          <a
            class="button"
            href={`/api/tenants/${tenant}/companies/export${queryText({ ...view, hide: [...hidden] })}`}
            download
          >
            Export CSV
          </a>
        </div>
      </div>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {list.value === undefined && list.error === undefined && <Loading />}
      {list.value !== undefined && total === 0 && <Nothing tenant={tenant} isFiltered={isFiltered} />}
      {rows.length > 0 && (
        <CompanyTable
          tenant={tenant}
          rows={rows}
          columns={COLUMNS.filter(({ key }) => key === 'name' || !hidden.has(key))}
          sort={view.sort ?? 'last_seen'}
          direction={view.direction ?? 'desc'}
          onSort={(sort, dir) => set({ sort, dir, page: '' })}
          detailsOf={details.of}
          newSince={openedAt.current}
        />
      )}
      {total > 0 && list.value?.rows.length === 0 && !list.isLoading && (
        <EmptyState title={`There is no page ${number(page)}`}>
          <p>
            <button type="button" onClick={() => set({ page: '' })}>
              Show the first page
            </button>
          </p>
        </EmptyState>
      )}
      {rows.length > 0 && (
        <Pager page={page} total={total} onChange={(next) => set({ page: next === 1 ? '' : String(next) })} />
      )}
    </>
  )
}

const CLEARED = { q: '', industry: '', category: '', country: '', class: '', from: '', to: '', new: '', page: '' }

function Nothing({ tenant, isFiltered }: { readonly tenant: string; readonly isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <EmptyState title="No company matches">
        <p>Clear some of the filters, or search for a shorter part of the name.</p>
      </EmptyState>
    )
  }
  return <FirstEvent tenant={tenant} title="No company was seen yet" />
}

function ColumnChoice({
  hidden,
  onChange,
}: {
  readonly hidden: ReadonlySet<string>
  readonly onChange: (hidden: string[]) => void
}) {
  const others = COLUMNS.filter(({ key }) => key !== 'name')
  const toggled = (key: string) => others.filter((column) => hidden.has(column.key) !== (column.key === key))
  const details = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const closeBeside = ({ target }: Event) => {
      if (details.current?.open && !details.current.contains(target as Node)) details.current.open = false
    }
    document.addEventListener('pointerdown', closeBeside)
    document.addEventListener('focusin', closeBeside)
    return () => {
      document.removeEventListener('pointerdown', closeBeside)
      document.removeEventListener('focusin', closeBeside)
    }
  }, [])
  const closeOnEscape = ({ key }: KeyboardEvent) => {
    if (key !== 'Escape' || !details.current?.open) return
    details.current.open = false
    details.current.querySelector('summary')!.focus()
  }
  return (
    <details ref={details} class="columns" onKeyDown={closeOnEscape}>
      <summary class="button">Columns</summary>
      <fieldset>
        <legend class="ui-hidden">Columns that are shown</legend>
        {others.map(({ key, label }) => (
          <label key={key}>
            <input
              type="checkbox"
              checked={!hidden.has(key)}
              onChange={() => onChange(toggled(key).map((column) => column.key))}
            />{' '}
            {label}
          </label>
        ))}
      </fieldset>
    </details>
  )
}

interface PagerProps {
  readonly page: number
  readonly total: number
  readonly onChange: (page: number) => void
}

function Pager({ page, total, onChange }: PagerProps) {
  const last = Math.ceil(total / PAGE_ROWS)
  const first = (page - 1) * PAGE_ROWS + 1
  return (
    <section class="pager" aria-label="Pages of companies">
      <button type="button" disabled={page <= 1} onClick={() => onChange(page - 1)}>
        Previous
      </button>
      <span>
        {number(first)}–{number(Math.min(total, first + PAGE_ROWS - 1))} of {number(total)}
      </span>
      <button type="button" disabled={page >= last} onClick={() => onChange(page + 1)}>
        Next
      </button>
    </section>
  )
}
