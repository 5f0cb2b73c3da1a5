import { FileText } from 'lucide-preact'
import { Link } from 'wouter-preact'
import {
  PAGE_LIMITS,
  type PageCompaniesAnswer,
  type PageRow,
  type PagesAnswer,
} from '../../../../schemas/dashboard/pages.ts'
import { Avatar } from '../design/avatar.tsx'
import { BarList } from '../design/bar-list.tsx'
import { Button, LinkButton } from '../design/button.tsx'
import { DateRange } from '../design/date-range.tsx'
import { TextInput } from '../design/field.tsx'
import { Hidden, Row, Stack, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import type { DayRange } from '../design/ranges.ts'
import { sharedScale } from '../design/shared-scale.ts'
import { Loading } from '../design/skeleton.tsx'
import { Sparkline } from '../design/sparkline.tsx'
import { Table, type TableSort } from '../design/table.tsx'
import { companiesPath, companyPath } from '../lib/company-links.ts'
import { trailState } from '../lib/company-trail.ts'
import { number } from '../lib/format.ts'
import { pageDays, pageDaysChange } from '../lib/page-days.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { PageTabs } from './read-pages/page-tabs.tsx'

const texts = TEXTS.readPages.page

const REFRESH_MS = 60_000
const SORTS = ['companies', 'visits', 'events'] as const

/** The pages that companies read. */
export function ReadPages({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [state, set] = useUrlState()
  const { range, days } = pageDays(state)
  const sort = SORTS.find((name) => name === state.get('sort')) ?? 'companies'
  const search = (state.get('q') ?? '').slice(0, PAGE_LIMITS.searchMaxChars)
  const shown = Math.min(PAGE_LIMITS.rowsMax, Number(state.get('rows')) || PAGE_LIMITS.rows)
  const query = { ...days, sort, search, limit: shown }
  const { value, error, isLoading, reload } = useData<PagesAnswer>(`/api/tenants/${tenant}/pages`, query, REFRESH_MS)
  const rows = value?.rows ?? []
  return (
    <Page
      title={texts.title}
      description={texts.about}
      actions={
        <DateRange
          value={range}
          onChange={(next) => next !== undefined && set({ ...pageDaysChange(next), rows: '' })}
        />
      }
    >
      <PageTabs tenant={tenant} state={state} current="pages" />
      <Row justify="between">
        <TextInput
          type="search"
          label={texts.search}
          isLabelHidden
          placeholder={texts.forExample}
          maxLength={PAGE_LIMITS.searchMaxChars}
          value={search}
          onInput={(text) => set({ q: text, rows: '' }, true)}
        />
        <Text tone="soft" role="status">
          {value === undefined ? '' : texts.count(value.total)}
          {isLoading && value !== undefined ? texts.loading : ''}
        </Text>
      </Row>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading rows={10} rowHeight={36} />}
      {value !== undefined && rows.length === 0 && (
        <Nothing tenant={tenant} search={search} onClear={() => set({ q: '' })} />
      )}
      {rows.length > 0 && (
        <PageTable
          tenant={tenant}
          rows={rows}
          days={days}
          sort={{ key: sort, direction: 'desc' }}
          onSort={({ key }) => set({ sort: key === 'companies' ? '' : key })}
          open={state.get('open') ?? ''}
          onOpen={(key) => set({ open: key }, true)}
        />
      )}
      {value !== undefined && value.total > rows.length && rows.length > 0 && (
        <Row>
          {shown < PAGE_LIMITS.rowsMax ? (
            <Button onClick={() => set({ rows: String(PAGE_LIMITS.rowsMax) }, true)}>
              {TEXTS.words.buttons.showMore}
            </Button>
          ) : (
            <Text tone="soft">{texts.first(number(rows.length), number(value.total))}</Text>
          )}
        </Row>
      )}
    </Page>
  )
}

interface NothingProps {
  readonly tenant: string
  readonly search: string
  readonly onClear: () => void
}

function Nothing({ tenant, search, onClear }: NothingProps) {
  if (search !== '') {
    return (
      <EmptyState title={texts.noMatch} icon={FileText}>
        <Text>{texts.noneWith(search)}</Text>
        <Button onClick={onClear}>{texts.clear}</Button>
      </EmptyState>
    )
  }
  return (
    <EmptyState title={texts.none} icon={FileText}>
      <Text isMeasured>{texts.moreDays}</Text>
      <LinkButton href={`/t/${tenant}/sources`}>{texts.sources}</LinkButton>
    </EmptyState>
  )
}

interface PageTableProps {
  readonly tenant: string
  readonly rows: readonly PageRow[]
  readonly days: DayRange
  readonly sort: TableSort
  readonly onSort: (sort: TableSort) => void
  /** The key of the row whose readers are shown; `''`: none. */
  readonly open: string
  readonly onOpen: (key: string) => void
}

const keyOf = ({ host, path }: PageRow) => `${host} ${path}`

function PageTable({ tenant, rows, days, sort, onSort, open, onOpen }: PageTableProps) {
  const hosts = new Set(rows.map(({ host }) => host))
  const most = sharedScale(rows.map(({ daily_visits }) => daily_visits.slice(-SPARK_DAYS)))
  return (
    <Table
      label={texts.title}
      rows={rows}
      keyOf={keyOf}
      sort={sort}
      onSort={onSort}
      sortsOneWay
      hasKeys
      detailOf={(row) => keyOf(row) === open && <Readers tenant={tenant} page={row} days={days} />}
      columns={[
        {
          key: 'page',
          label: texts.page,
          text: 420,
          render: ({ host, path }) => (
            <Link href={companiesPath(tenant, { ...days, page: { host, path } })} title={`${host}${path}`}>
              {hosts.size > 1 ? `${host}${path}` : path}
            </Link>
          ),
        },
        {
          key: 'companies',
          label: TEXTS.words.fields.companies,
          isNumber: true,
          sort: 'desc',
          render: ({ companies }) => number(companies),
        },
        {
          key: 'which',
          label: texts.which,
          inCard: 'whole',
          render: (row) => (
            <Row gap={2}>
              {row.top.map(({ company_id, name }) => (
                <Avatar key={company_id} name={name} id={company_id} />
              ))}
              <Button
                size="s"
                variant="quiet"
                aria-expanded={keyOf(row) === open}
                onClick={() => onOpen(keyOf(row) === open ? '' : keyOf(row))}
              >
                {keyOf(row) === open ? texts.hide : texts.show}
                <Hidden> {texts.whoRead(row.path)}</Hidden>
              </Button>
            </Row>
          ),
        },
        {
          key: 'visits',
          label: TEXTS.words.fields.visits,
          isNumber: true,
          sort: 'desc',
          render: ({ visits }) => number(visits),
        },
        {
          key: 'events',
          label: TEXTS.words.fields.events,
          isNumber: true,
          sort: 'desc',
          render: ({ events }) => number(events),
        },
        {
          key: 'trend',
          label: texts.byDay,
          inCard: 'hidden',
          render: ({ daily_visits: values, visits }) => (
            <Sparkline
              values={values.slice(-SPARK_DAYS)}
              days={Math.min(SPARK_DAYS, values.length)}
              most={most}
              label={texts.trend(visits, values.length)}
            />
          ),
        },
      ]}
    />
  )
}

const SPARK_DAYS = 31

interface ReadersProps {
  readonly tenant: string
  readonly page: PageRow
  readonly days: DayRange
}

/** The companies that read a page. */
function Readers({ tenant, page: { host, path, companies }, days }: ReadersProps) {
  const query = { ...days, host, path }
  const { value, error, reload } = useData<PageCompaniesAnswer>(`/api/tenants/${tenant}/pages/companies`, query)
  if (error !== undefined) return <Problem error={error} onRetry={reload} />
  if (value === undefined) return <Loading rows={3} />
  const { rows, total } = value
  const list = { path: 'pages/companies', query } as const
  const trail = trailState({ ids: rows.map(({ company_id: id }) => id), before: 0, total, list })
  return (
    <Stack gap={2}>
      <BarList
        bars={rows.map(({ company_id, name, visits }) => ({
          key: company_id,
          name,
          href: companyPath(tenant, company_id),
          state: trail,
          mark: <Avatar name={name} id={company_id} size={20} />,
          value: visits,
          text: TEXTS.words.counts.visits(visits),
        }))}
      />
      {companies > rows.length && (
        <Text tone="soft" isSmall>
          {texts.most(number(rows.length), number(companies))}
        </Text>
      )}
    </Stack>
  )
}
