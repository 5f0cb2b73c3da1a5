import { Link } from 'wouter-preact'
import type { CompanyRow, CompanySort } from '../../../../schemas/companies.ts'
import type { CompanyDetails } from '../../../../schemas/dashboard/companies.ts'
import { Sparkline } from '../design/sparkline.tsx'
import { Time } from '../design/time.tsx'
import { companyPath } from '../lib/company-links.ts'
import type { Column } from '../lib/company-view.ts'
import { country } from '../lib/days.ts'
import { counted, number } from '../lib/format.ts'
import { Scroll } from './scroll.tsx'

const SPARK_DAYS = 30

interface CompanyTableProps {
  readonly tenant: string
  readonly rows: readonly CompanyRow[]
  readonly columns: readonly Column[]
  readonly sort: CompanySort
  readonly direction: 'asc' | 'desc'
  readonly onSort: (sort: CompanySort, direction: 'asc' | 'desc') => void
  readonly detailsOf: (row: CompanyRow) => CompanyDetails | undefined
  /** Marks companies first seen since then. ISO 8601. */
  readonly newSince: string
}

/** A table of companies. Its headings sort it. */
export function CompanyTable(props: CompanyTableProps) {
  const { tenant, rows, columns, sort, direction, onSort, detailsOf, newSince } = props
  return (
    <Scroll label="Companies">
      <table class="companies">
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} direction={direction} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const details = detailsOf(row)
            return (
              <tr key={row.company_id}>
                {columns.map(({ key, isNumber }) =>
                  key === 'name' ? (
                    <th key={key} scope="row">
                      <Link href={companyPath(tenant, row.company_id)}>{row.name}</Link>
                      {row.first_seen >= newSince && <span class="tag good">new</span>}
                    </th>
                  ) : (
                    <td key={key} class={isNumber ? 'number' : ''}>
                      <Cell column={key} row={row} details={details} />
                    </td>
                  ),
                )}
              </tr>
            )
          })}
        </tbody>
      </table>
    </Scroll>
  )
}

type HeadProps = Pick<CompanyTableProps, 'sort' | 'direction' | 'onSort'> & { readonly column: Column }

function Head({ column, sort, direction, onSort }: HeadProps) {
  const { key, label, isNumber, sort: own, first = 'desc' } = column
  const isSorted = own === sort
  const ends = { asc: 'ascending', desc: 'descending' } as const
  return (
    <th
      key={key}
      scope="col"
      class={isNumber ? 'number' : ''}
      aria-sort={isSorted ? ends[direction] : own === undefined ? undefined : 'none'}
    >
      {own === undefined ? (
        label
      ) : (
        <button
          type="button"
          class="sort"
          onClick={() => onSort(own, isSorted ? (direction === 'asc' ? 'desc' : 'asc') : first)}
        >
          {label}
          <span aria-hidden="true">{isSorted ? (direction === 'asc' ? ' ▲' : ' ▼') : ''}</span>
        </button>
      )}
    </th>
  )
}

interface CellProps {
  readonly column: Column['key']
  readonly row: CompanyRow
  readonly details: CompanyDetails | undefined
}

function Cell({ column, row, details }: CellProps) {
  switch (column) {
    case 'first_seen':
    case 'last_seen':
      return <Time at={row[column]} />
    case 'visits':
    case 'unique_ips':
      return <>{details === undefined ? '…' : number(details[column])}</>
    case 'daily_visits':
      return <Sparkline values={details?.daily_visits} days={SPARK_DAYS} label={sparkLabel(details?.daily_visits)} />
    case 'country_code':
      return <span title={row.country_code}>{country(row.country_code)}</span>
    case 'events':
    case 'quality':
      return <>{number(row[column])}</>
    default:
      return <>{row[column]}</>
  }
}

function sparkLabel(visits: readonly number[] | undefined): string {
  if (visits === undefined) return 'Visits of the last days: loading'
  const sum = visits.reduce((total, value) => total + value, 0)
  return `${counted(sum, 'visit')} in ${SPARK_DAYS} days`
}
