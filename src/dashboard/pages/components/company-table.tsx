import { Link } from 'wouter-preact'
import type { CompanyRow, CompanySort } from '../../../../schemas/companies.ts'
import type { CompanyDetails } from '../../../../schemas/dashboard/companies.ts'
import type { OwnColumn } from '../../../../schemas/facts.ts'
import { Badge } from '../design/badge.tsx'
import { Country } from '../design/flag.tsx'
import { Row, Text } from '../design/layout.tsx'
import { sharedScale } from '../design/shared-scale.ts'
import { Sparkline } from '../design/sparkline.tsx'
import { Table, type TableColumn } from '../design/table.tsx'
import { Time } from '../design/time.tsx'
import { companyPath } from '../lib/company-links.ts'
import { type Trail, trailState } from '../lib/company-trail.ts'
import { type Column, isOwnColumn } from '../lib/company-view.ts'
import { number } from '../lib/format.ts'
import { ownText } from '../lib/own-words.ts'
import { touchText } from '../lib/touches.ts'
import { TEXTS } from '../texts/texts.ts'
import { CompanyAvatar } from './company-avatar.tsx'
import { Fit } from './company-fit.tsx'
import { CompanyHeatBadge } from './company-heat.tsx'

const texts = TEXTS.components.companyTable

/** What a list is opened for. The others leave a narrow window. */
const STAYING: ReadonlySet<Column['key']> = new Set(['name', 'heat', 'visits', 'last_seen'])
const SPARK_DAYS = 30
const TEXT_PX = 180

interface CompanyTableProps {
  readonly tenant: string
  readonly rows: readonly CompanyRow[]
  /** Companies on the pages before, and of the list, and the list. */
  readonly place: Pick<Trail, 'before' | 'total' | 'list'>
  /** All that a list may have. */
  readonly columns: readonly Column[]
  /** Those of the tenant's own. */
  readonly own: readonly OwnColumn[]
  readonly shown: ReadonlySet<Column['key']>
  readonly sort: CompanySort
  readonly direction: 'asc' | 'desc'
  readonly onSort: (sort: CompanySort, direction: 'asc' | 'desc') => void
  readonly detailsOf: (row: CompanyRow) => CompanyDetails | undefined
  /** Marks companies first seen since then. ISO 8601. */
  readonly newSince: string
  /** Ids of the rows that are chosen. */
  readonly chosen: ReadonlySet<string>
  readonly onChoose: (chosen: ReadonlySet<string>) => void
  /** Reports the columns that do not fit. */
  readonly onLeftOut: (keys: readonly string[]) => void
}

/** A table of companies. Its headings sort it. */
export function CompanyTable(props: CompanyTableProps) {
  const { tenant, rows, place, own, shown, sort, direction, onSort, detailsOf, newSince, chosen, onChoose, onLeftOut } =
    props
  const most = sharedScale(rows.map((row) => detailsOf(row)?.daily_visits))
  const trail = trailState({ ids: rows.map(({ company_id }) => company_id), ...place })
  const render = (key: Column['key']) => (row: CompanyRow) =>
    key === 'name' ? (
      <Name
        tenant={tenant}
        row={row}
        trail={trail}
        hasDomain={shown.has('domain')}
        isNew={row.first_seen >= newSince}
      />
    ) : (
      <Value column={key} own={own} row={row} details={detailsOf(row)} mostVisits={most} />
    )
  const columns = props.columns
    .filter(({ key }) => key !== 'domain' && shown.has(key))
    .map(
      ({ key, label, isNumber, isExtra, sort: sortsBy, first = 'desc' }, i): TableColumn<CompanyRow> => ({
        key,
        label,
        render: render(key),
        ...(isNumber ? { isNumber } : { text: TEXT_PX }),
        ...(sortsBy !== undefined && { sort: first }),
        ...(key === 'name' && { text: 340 }),
        ...(key === 'trend' && { inCard: 'hidden' }),
        // Those that somebody asked for stay longer.
        ...(!STAYING.has(key) && { leaves: isExtra ? i : props.columns.length + i }),
      }),
    )
  return (
    <Table
      label={texts.companies}
      hasKeys
      opensRows
      onLeftOut={onLeftOut}
      columns={columns}
      rows={rows}
      keyOf={({ company_id }) => company_id}
      sort={{ key: sort, direction }}
      selection={{ selected: chosen, onChange: onChoose, nameOf: ({ name }) => name }}
      onSort={(next) => onSort(next.key as CompanySort, next.direction)}
    />
  )
}

interface NameProps {
  readonly tenant: string
  readonly row: CompanyRow
  readonly trail: ReturnType<typeof trailState>
  readonly hasDomain: boolean
  readonly isNew: boolean
}

function Name({ tenant, row, trail, hasDomain, isNew }: NameProps) {
  return (
    <Row gap={3} isOneLine>
      <CompanyAvatar tenant={tenant} company={row} size={22} />
      <Text as="div" isCut>
        <Link href={companyPath(tenant, row.company_id)} state={trail}>
          {row.name}
        </Link>
        {isNew && (
          <>
            {' '}
            <Badge tone="good">{texts.new}</Badge>
          </>
        )}
        {row.hidden && (
          <>
            {' '}
            <Badge>{texts.hidden}</Badge>
          </>
        )}
        {hasDomain && row.domain !== '' && row.domain !== row.name && (
          <Text as="span" tone="soft" isSmall>
            {' '}
            {row.domain}
          </Text>
        )}
      </Text>
    </Row>
  )
}

interface ValueProps {
  readonly column: Column['key']
  readonly own: readonly OwnColumn[]
  readonly row: CompanyRow
  readonly details: CompanyDetails | undefined
  /** Scale of the visits on a day. */
  readonly mostVisits: number
}

function Value({ column, own, row, details, mostVisits }: ValueProps) {
  const ownColumn = own.find(({ key }) => column === `own.${key}`)
  if (isOwnColumn(column)) {
    const text = ownColumn === undefined ? '' : ownText(ownColumn, row.own[ownColumn.key] ?? '')
    return <>{text || '–'}</>
  }
  switch (column) {
    case 'first_seen':
    case 'last_seen':
      return <Time at={row[column]} isAgo />
    case 'trend':
      return (
        <Sparkline values={details?.daily_visits} days={SPARK_DAYS} most={mostVisits} label={sparkLabel(details)} />
      )
    case 'heat':
      return details === undefined ? <>…</> : <CompanyHeatBadge heat={details.heat} />
    case 'fit':
      return <Fit company={row} />
    case 'visits':
    case 'unique_ips':
      return <>{details === undefined ? '…' : number(details[column])}</>
    case 'first_touch':
    case 'last_touch':
      return <>{details === undefined ? '…' : details[column] === null ? '–' : touchText(details[column])}</>
    case 'tags':
      return (
        <Row gap={1}>
          {row.tags.map((tag) => (
            <Badge key={tag}>{tag}</Badge>
          ))}
        </Row>
      )
    case 'status':
      return row.status === '' ? <>–</> : <Badge tone="accent">{row.status}</Badge>
    case 'country_code':
      return <Country code={row.country_code} />
    case 'events':
    case 'quality':
      return <>{number(row[column])}</>
    default:
      return <>{row[column] === '' ? '–' : row[column]}</>
  }
}

function sparkLabel(details: CompanyDetails | undefined): string {
  if (details === undefined) return texts.loading
  const visits = details.daily_visits.reduce((sum, day) => sum + day, 0)
  return TEXTS.words.counts.visitsInDays(visits, SPARK_DAYS)
}
