import { Building2, Columns3, FileUp, Keyboard, SearchX } from 'lucide-preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CompanyRow } from '../../../../schemas/companies.ts'
import type { CompaniesPage } from '../../../../schemas/dashboard/companies.ts'
import { CORRECTION_LIMITS } from '../../../../schemas/dashboard/corrections.ts'
import type { UnknownVisits } from '../../../../schemas/unknown-networks.ts'
import { CompanyBulk } from '../components/company-bulk.tsx'
import { CompanyTable } from '../components/company-table.tsx'
import { DayZero } from '../components/day-zero.tsx'
import { ExportCsv } from '../components/export-csv.tsx'
import { Feeds, KeepFeed, useShownFeed } from '../components/feeds.tsx'
import { Filters } from '../components/filters.tsx'
import { NoMatch } from '../components/no-match.tsx'
import { SegmentBar, useShownSegment } from '../components/segment-bar.tsx'
import { Share } from '../components/share.tsx'
import { Button, IconButton, LinkButton } from '../design/button.tsx'
import { DateRange } from '../design/date-range.tsx'
import { Facts } from '../design/details.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Checkbox, Fieldset } from '../design/field.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { pageKeyTarget } from '../design/page-key.ts'
import { Popover } from '../design/popover.tsx'
import type { DayRange } from '../design/ranges.ts'
import { Loading } from '../design/skeleton.tsx'
import { type ActiveFilter, activeFilters } from '../lib/active-filters.ts'
import { queryText } from '../lib/api.ts'
import {
  type Column,
  columnsChange,
  FILTER_NAMES,
  listColumns,
  PAGE_ROWS,
  pageOf,
  rangeChange,
  rangeOf,
  rememberList,
  searchOf,
  shownColumns,
  viewOf,
} from '../lib/company-view.ts'
import { number } from '../lib/format.ts'
import { useOwnColumns } from '../lib/own-columns.ts'
import type { PageProps } from '../lib/page-props.ts'
import { sharedOf } from '../lib/segment-view.ts'
import { changed, type UrlChange, useUrlState } from '../lib/url-state.ts'
import { useChoices, useCompanies, useDetails, useFrozenRows } from '../lib/use-companies.ts'
import { useData } from '../lib/use-data.ts'
import { useRested } from '../lib/use-rested.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.companies.list

const NONE: ReadonlyMap<string, CompanyRow> = new Map()

/** The change of the URL that removes all filters. */
const NO_FILTERS: UrlChange = { ...Object.fromEntries(FILTER_NAMES.map((name) => [name, ''])), page: '' }

/** Table of all companies. Its numbers follow the events; its order changes only when the reader asks. */
export function Companies({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const openedAt = useRef(new Date().toISOString())
  const searchField = useRef<HTMLInputElement>(null)
  const [leftOut, setLeftOut] = useState<readonly string[]>([])
  const [state, set] = useUrlState()
  const view = viewOf(state)
  const search = state.toString()
  useEffect(() => rememberList(tenant, search), [tenant, search])
  const page = pageOf(state)
  const list = useCompanies(tenant, view, page)
  const { rows, newer, isMoved, show, follow } = useFrozenRows(list)
  // A choice belongs to the search that it was made in, so that no action affects companies outside of this one.
  const choiceOf = `${tenant}?${searchOf(state)}`
  const [choice, setChoice] = useState({ of: choiceOf, rows: NONE })
  const chosen = choice.of === choiceOf ? choice.rows : NONE
  const setChosen = (next: ReadonlyMap<string, CompanyRow>) => setChoice({ of: choiceOf, rows: next })
  const own = useOwnColumns(tenant).columns
  const active = activeFilters(state, own)
  const isFiltered = active.length > 0
  const version = isFiltered || list.value === undefined ? undefined : String(list.value.total)
  const choices = useChoices(tenant, view, version)
  const details = useDetails(tenant, rows, view)
  const total = list.value?.total ?? 0
  const error = list.error ?? details.error ?? choices.error
  const reload = () => {
    list.reload()
    details.reload()
    choices.reload()
  }
  const corrected = () => {
    follow()
    reload()
  }
  const choose = (ids: ReadonlySet<string>) => {
    const known = new Map([...chosen, ...rows.map((row) => [row.company_id, row] as const)])
    setChosen(new Map([...ids].slice(0, CORRECTION_LIMITS.companies).map((id) => [id, known.get(id)!])))
  }
  const hasFit = rows.some(({ fit }) => fit !== '')
  const columns = listColumns(own, hasFit)
  const shown = shownColumns(state)
  const hide = (state.get('hide') ?? '').split(',').filter((name) => name !== '')
  const range = rangeOf(state)
  const segment = useShownSegment(state)
  const feed = useShownFeed(state)
  const isWaiting = list.value === undefined || (total === 0 && list.hasEvents === undefined)
  if (list.hasEvents === false && list.value !== undefined && total === 0) {
    return (
      <Page title={TEXTS.words.fields.companies}>
        {error !== undefined && <Problem error={error} onRetry={reload} />}
        <DayZero tenant={tenant} icon={Building2} title={texts.dayZero} about={texts.aboutDayZero} />
      </Page>
    )
  }
  return (
    <Page
      title={segment?.name ?? TEXTS.words.fields.companies}
      description={
        <>
          {segment !== undefined && `${texts.ofSegment} `}
          {list.value !== undefined && <UnknownLink tenant={tenant} />}
        </>
      }
      actions={
        <>
          <DateRange
            value={typeof range === 'object' ? closed(range) : range}
            hasAll
            onChange={(next) => set({ ...rangeChange(next), page: '' })}
          />
          <Share
            key={choiceOf}
            tenant={tenant}
            shared={{ ...sharedOf(state, segment), sort: view.sort, direction: view.direction }}
            name={segment?.name ?? TEXTS.words.fields.companies}
            columns={shown}
          />
          <LinkButton icon={FileUp} href={`/t/${tenant}/companies/import`}>
            {texts.import}
          </LinkButton>
          <ExportCsv tenant={tenant} view={view} hide={hide} chosen={[...chosen.keys()]} />
        </>
      }
    >
      <Stack gap={3}>
        <Filters
          tenant={tenant}
          state={state}
          active={active}
          choices={choices.value}
          columns={own}
          hasFit={hasFit}
          set={set}
          searchRef={searchField}
        >
          {segment === undefined && !isFiltered && <Feeds tenant={tenant} />}
        </Filters>
        {segment === undefined && isFiltered && <KeepFeed tenant={tenant} state={state} />}
        <Row justify="between">
          {chosen.size > 0 ? (
            <CompanyBulk
              tenant={tenant}
              companies={[...chosen.values()]}
              elsewhere={[...chosen.keys()].filter((id) => !rows.some(({ company_id }) => company_id === id)).length}
              changed={corrected}
              onClear={() => setChosen(NONE)}
            />
          ) : (
            <Row>
              <Text role="status" tone="soft">
                {list.value === undefined ? ' ' : TEXTS.words.counts.companies(total)}
                {list.isLoading && list.value !== undefined ? texts.loading : ''}
              </Text>
              {(newer > 0 || isMoved) && (
                <Button size="s" onClick={show}>
                  {newer > 0 ? texts.newer(number(newer)) : texts.moved}
                </Button>
              )}
            </Row>
          )}
          <Row gap={2}>
            <SegmentBar tenant={tenant} state={state} isFiltered={isFiltered && feed === undefined} />
            {isFiltered && (
              <Button size="s" variant="quiet" onClick={() => set(NO_FILTERS)}>
                {texts.clear}
              </Button>
            )}
            <ColumnChoice
              columns={columns}
              shown={shown}
              leftOut={leftOut}
              onChange={(next) => set(columnsChange(next), true)}
            />
            <Keys searchField={searchField} />
          </Row>
        </Row>
      </Stack>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {isWaiting && error === undefined && <Loading rows={12} rowHeight={36} />}
      {!isWaiting && total === 0 && rows.length === 0 && (
        <Nothing tenant={tenant} state={state} active={active} hasDays={range !== undefined} set={set} />
      )}
      {rows.length > 0 && (
        <CompanyTable
          tenant={tenant}
          rows={rows}
          place={{ before: (page - 1) * PAGE_ROWS, total, list: { path: 'companies', query: view } }}
          columns={columns}
          own={own}
          shown={shown}
          sort={view.sort ?? 'last_seen'}
          direction={view.direction ?? 'desc'}
          onSort={(sort, dir) => set({ sort, dir, page: '' })}
          detailsOf={details.of}
          newSince={openedAt.current}
          chosen={new Set(chosen.keys())}
          onChoose={choose}
          onLeftOut={setLeftOut}
        />
      )}
      {total > 0 && list.value?.rows.length === 0 && !list.isLoading && (
        <EmptyState title={texts.noPage(number(page))}>
          <Button onClick={() => set({ page: '' })}>{texts.firstPage}</Button>
        </EmptyState>
      )}
      {rows.length > 0 && (
        <Pager page={page} total={total} onChange={(next) => set({ page: next === 1 ? '' : String(next) })} />
      )}
    </Page>
  )
}

/** Leads to the visits without a company, if there are any. Asked after the list, which it must not delay. */
function UnknownLink({ tenant }: { readonly tenant: string }) {
  const { value } = useData<UnknownVisits>(`/api/tenants/${tenant}/companies/unknown/visits`)
  if (value === undefined || value.visits === 0) return null
  return <Link href={`/t/${tenant}/companies/unknown`}>{texts.unknown(value.visits, value.days)}</Link>
}

/** An old URL may have one end only. */
function closed({ from = '1900-01-01', to = '2299-12-31' }: Partial<DayRange>): DayRange {
  return { from, to }
}

interface NothingProps {
  readonly tenant: string
  readonly state: URLSearchParams
  readonly active: readonly ActiveFilter[]
  readonly hasDays: boolean
  readonly set: (change: UrlChange) => void
}

/** No company of a workspace that has events. */
function Nothing({ tenant, state, active, hasDays, set }: NothingProps) {
  const allTime = (
    <Button
      size="s"
      variant={active.length > 0 ? 'quiet' : undefined}
      onClick={() => set({ ...rangeChange(undefined), page: '' })}
    >
      {texts.allTime}
    </Button>
  )
  if (active.length > 0) {
    return (
      <NoMatch
        title={texts.noMatch}
        filters={active.map(({ name, label, words, clear }, i) => ({
          name,
          label,
          words,
          onRemove: () => set(clear),
          ...(active.length > 1 &&
            i < COUNTED_FILTERS && { left: <Without tenant={tenant} state={state} clear={clear} /> }),
        }))}
      >
        {hasDays && allTime}
      </NoMatch>
    )
  }
  if (hasDays) {
    return (
      <EmptyState icon={SearchX} title={texts.noneOnDays}>
        {allTime}
      </EmptyState>
    )
  }
  return (
    <EmptyState icon={SearchX} title={texts.noneShown}>
      <p>{texts.whyNone}</p>
      <Button onClick={() => set({ hidden: 'only', page: '' })}>{texts.showHidden}</Button>
    </EmptyState>
  )
}

/** Each count is a query, and a link may have any number of filters. */
const COUNTED_FILTERS = 4

/** Filters that change faster are not counted. */
const REST_MS = 1_000

/** How many companies there are without one of the filters. Asked when the filters rest; a change cancels what was asked. */
function Without({ tenant, state, clear }: Pick<NothingProps, 'tenant' | 'state'> & Pick<ActiveFilter, 'clear'>) {
  const view = viewOf(changed(state, clear))
  const address = `/api/tenants/${tenant}/companies${queryText({ ...view, limit: 1 })}`
  const isRested = useRested(address, undefined, REST_MS) === address
  const { value, of } = useData<CompaniesPage>(isRested ? address : undefined)
  return value !== undefined && of === address && texts.without(value.total)
}

interface ColumnChoiceProps {
  readonly columns: readonly Column[]
  readonly shown: ReadonlySet<Column['key']>
  /** Columns that are shown as soon as the window is wider. */
  readonly leftOut: readonly string[]
  readonly onChange: (shown: ReadonlySet<Column['key']>) => void
}

function ColumnChoice({ columns, shown, leftOut, onChange }: ColumnChoiceProps) {
  const toggled = (key: Column['key']) =>
    new Set(columns.map((column) => column.key).filter((each) => shown.has(each) !== (each === key)))
  return (
    <Popover
      label={texts.columns}
      align="end"
      trigger={(props) => (
        <Button {...props} size="s" variant="quiet" icon={Columns3}>
          {texts.columns}
        </Button>
      )}
    >
      {() => (
        <Fieldset legend={texts.shownColumns}>
          {columns
            .filter(({ key }) => key !== 'name')
            .map(({ key, label }) => (
              <Checkbox
                key={key}
                label={leftOut.includes(key) ? texts.wider(label) : label}
                isChecked={shown.has(key)}
                onChange={() => onChange(toggled(key))}
              />
            ))}
        </Fieldset>
      )}
    </Popover>
  )
}

/** The keys of the list: `/` searches, `?` shows all of them. */
function Keys({ searchField }: { readonly searchField: { readonly current: HTMLInputElement | null } }) {
  const [isOpen, setOpen] = useState(false)
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key } = event
      if (pageKeyTarget(event) === undefined) return
      if (key === '/') searchField.current?.focus()
      else if (key === '?') setOpen(true)
      else return
      event.preventDefault()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
  return (
    <>
      <IconButton icon={Keyboard} label={texts.keys} onClick={() => setOpen(true)} />
      {isOpen && (
        <Dialog title={texts.keys} onClose={() => setOpen(false)}>
          <Facts
            isLines
            facts={[
              ['j, k', texts.keyNext],
              [texts.enter, texts.keyOpen],
              ['x', texts.keyChoose],
              ['/', texts.keySearch],
              ['?', texts.keyKeys],
            ]}
          />
        </Dialog>
      )}
    </>
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
    <nav aria-label={texts.pages}>
      <Row>
        <Button size="s" disabled={page <= 1} onClick={() => onChange(page - 1)}>
          {texts.previous}
        </Button>
        <Text as="span" tone="soft">
          {texts.rows(number(first), number(Math.min(total, first + PAGE_ROWS - 1)), number(total))}
        </Text>
        <Button size="s" disabled={page >= last} onClick={() => onChange(page + 1)}>
          {texts.next}
        </Button>
      </Row>
    </nav>
  )
}
