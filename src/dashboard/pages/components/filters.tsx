import { Plus } from 'lucide-preact'
import type { ComponentChildren, Ref } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CompanyChoices, CountedValue } from '../../../../schemas/companies.ts'
import type { OwnColumn } from '../../../../schemas/facts.ts'
import { Button } from '../design/button.tsx'
import { Chip, type ChipOption, Chips, FilterChip } from '../design/chip.tsx'
import { TextInput } from '../design/field.tsx'
import { Fold, FoldLine } from '../design/fold.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { Choice, Menu } from '../design/popover.tsx'
import { Segmented } from '../design/tabs.tsx'
import { type ActiveFilter, HIDDEN_VALUES, isOtherFilter, LIST_FILTERS, MERGED_VALUES } from '../lib/active-filters.ts'
import { NOT_KNOWN, SEARCH_CHARS_MAX, viewOf } from '../lib/company-view.ts'
import { ownTermOf } from '../lib/own-terms.ts'
import type { UrlChange } from '../lib/url-state.ts'
import { TEXTS } from '../texts/texts.ts'
import { ConditionChip } from './condition-chip.tsx'
import { OwnFilters } from './own-filters.tsx'

const texts = TEXTS.components.filters

interface FiltersProps {
  readonly tenant: string
  readonly state: URLSearchParams
  /** Those that are set. */
  readonly active: readonly ActiveFilter[]
  readonly choices: CompanyChoices | undefined
  /** Columns of the tenant's own. */
  readonly columns: readonly OwnColumn[]
  /** Whether companies have a fit. */
  readonly hasFit: boolean
  readonly set: (change: UrlChange, replace?: boolean) => void
  /** The field of the search. */
  readonly searchRef: Ref<HTMLInputElement>
  /** Shown below the filters, and folded with them. */
  readonly children?: ComponentChildren
}

const TYPED_MS = 250

/** Filters that most people need now and then: they are in a menu until they are used. */
const MORE = {
  status: TEXTS.words.fields.status,
  tag: TEXTS.words.fields.tag,
  visits: TEXTS.words.fields.visits,
  heat_min: TEXTS.words.fields.heat,
  fit: TEXTS.words.fields.fit,
  category: TEXTS.words.fields.category,
  class: TEXTS.words.fields.type,
  owner: TEXTS.words.fields.owner,
  source: TEXTS.words.fields.source,
  campaign: TEXTS.words.fields.campaign,
  first_channel: TEXTS.words.fields.firstTouch,
  last_channel: TEXTS.words.fields.lastTouch,
  first_campaign: TEXTS.words.fields.firstCampaign,
  last_campaign: TEXTS.words.fields.lastCampaign,
  new_days: texts.new,
  hidden: texts.hidden,
  merged: texts.merged,
  condition: texts.anyOrNone,
} as const
type More = keyof typeof MORE

/** Filters of the list of companies. The URL holds them. */
export function Filters(props: FiltersProps) {
  const { tenant, state, active, choices, columns, hasFit, set, searchRef, children } = props
  // Ignore an invalid value in the URL.
  const { page_visits_min, visits_min, heat_min, new_days, hidden, merged } = viewOf(state)
  const wordsOf = (name: string) => active.find((filter) => filter.name === name)?.words
  const [opened, setOpened] = useState<readonly More[]>([])
  const [openedOwn, setOpenedOwn] = useState<readonly string[]>([])
  const own = state.getAll('own')
  const change = (name: string, value: string | readonly string[]) => set({ [name]: value, page: '' })
  const isShown = (name: string) => !(name in MORE) || state.has(name) || opened.includes(name as More)
  const isOpenAtFirst = (name: string) => opened.includes(name as More)
  const more = (Object.keys(MORE) as More[]).filter(
    (name) => !isShown(name) && !(name === 'new_days' && state.has('new')) && (name !== 'fit' || hasFit),
  )
  return (
    <search>
      <Chips>
        <Search value={state.get('q') ?? ''} inputRef={searchRef} onChange={(q) => set({ q, page: '' }, true)} />
        <Fold label={texts.filters} count={active.filter(({ name }) => name !== 'q').length}>
          {LIST_FILTERS.map(
            ([name, label, facet, nameOf]) =>
              isShown(name) && (
                <FilterChip
                  key={name}
                  label={label}
                  values={state.getAll(name).filter((value) => value !== '')}
                  options={choices && optionsOf(choices[facet], nameOf)}
                  isOpenAtFirst={isOpenAtFirst(name)}
                  onChange={(values) => change(name, values)}
                />
              ),
          )}
          {PAGE_OPERATORS.map(
            (operator) =>
              (operator === 'at' ? !state.has('page_is') || state.has('at') : state.has('page_is')) && (
                <PageChip
                  key={operator}
                  operator={operator}
                  pages={state.getAll(operator)}
                  summary={wordsOf(operator)}
                  visits={page_visits_min}
                  onChange={(next, pages, visits) =>
                    set({ [operator]: '', [next]: pages, page_visits_min: visits, page: '' })
                  }
                />
              ),
          )}
          {isShown('visits') && (
            <TextChip
              label={MORE.visits}
              field={texts.visitsField}
              summary={wordsOf('visits')}
              value={visits_min === undefined ? '' : String(visits_min)}
              isNumber
              isOpenAtFirst={isOpenAtFirst('visits')}
              onChange={(visits) => change('visits', visits)}
            />
          )}
          {isShown('heat_min') && (
            <TextChip
              label={MORE.heat_min}
              field={texts.heatField}
              summary={wordsOf('heat_min')}
              value={heat_min === undefined ? '' : String(heat_min)}
              isNumber
              isOpenAtFirst={isOpenAtFirst('heat_min')}
              onChange={(heat) => change('heat_min', heat)}
            />
          )}
          {(isShown('new_days') || state.has('new')) && (
            <OneChip
              label={MORE.new_days}
              value={new_days === undefined ? '' : String(new_days)}
              summary={wordsOf('new')}
              options={SPANS}
              isOpenAtFirst={isOpenAtFirst('new_days')}
              onChange={(value) => set({ new_days: value, new: '', page: '' })}
            />
          )}
          {isShown('hidden') && (
            <OneChip
              label={MORE.hidden}
              value={hidden ?? ''}
              summary={wordsOf('hidden')}
              options={HIDDEN_VALUES}
              isOpenAtFirst={isOpenAtFirst('hidden')}
              onChange={(value) => change('hidden', value)}
            />
          )}
          {isShown('merged') && (
            <OneChip
              label={MORE.merged}
              value={merged ?? ''}
              summary={wordsOf('merged')}
              options={MERGED_VALUES}
              isOpenAtFirst={isOpenAtFirst('merged')}
              onChange={(value) => change('merged', value)}
            />
          )}
          <OwnFilters
            columns={columns}
            terms={own}
            opened={openedOwn}
            onChange={(terms) => set({ own: terms, page: '' })}
          />
          {active
            .filter(({ name }) => isOtherFilter(name))
            .map(({ name, label, words, clear }) => (
              <Chip key={name} label={label} summary={words} onClear={() => set(clear)}>
                {() => (
                  <Text tone="soft" isSmall>
                    {TEXTS.components.otherFilters.ofSegment}
                  </Text>
                )}
              </Chip>
            ))}
          {isShown('condition') && (
            <ConditionChip
              tenant={tenant}
              condition={state.get('condition') ?? ''}
              isOpenAtFirst={isOpenAtFirst('condition')}
              onChange={(condition) => change('condition', condition)}
            />
          )}
          {more.length > 0 && (
            <Menu
              label={texts.more}
              trigger={(props) => (
                <Button {...props} size="s" variant="quiet" icon={Plus}>
                  {texts.filter}
                </Button>
              )}
              entries={[
                ...more.map((name) => ({ label: MORE[name], onSelect: () => setOpened([...opened, name]) })),
                ...columns
                  .filter(({ key }) => !openedOwn.includes(key) && !own.some((term) => ownTermOf(term)?.key === key))
                  .map(({ key, name }) => ({ label: name, onSelect: () => setOpenedOwn([...openedOwn, key]) })),
              ]}
            />
          )}
          {children && <FoldLine>{children}</FoldLine>}
        </Fold>
      </Chips>
    </search>
  )
}

function optionsOf(values: readonly CountedValue[], nameOf: (value: string) => string): ChipOption[] {
  return values.map(({ value, companies }) => ({
    value: value === '' ? NOT_KNOWN : value,
    label: value === '' ? TEXTS.words.states.notKnown : nameOf(value),
    count: companies,
  }))
}

interface SearchProps {
  readonly value: string
  readonly inputRef: Ref<HTMLInputElement>
  readonly onChange: (value: string) => void
}

function Search({ value, inputRef, onChange }: SearchProps) {
  const [typed, setTyped] = useState(value)
  const reported = useRef(value)
  useEffect(() => {
    // The back button changes it too. A value that comes from here is older than later typing.
    if (value !== reported.current) setTyped(value)
    reported.current = value
  }, [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => {
      reported.current = typed
      onChange(typed)
    }, TYPED_MS)
    return () => clearTimeout(timer)
  }, [typed, value])
  return (
    <TextInput
      type="search"
      label={texts.search}
      isLabelHidden
      isSmall
      inputRef={inputRef}
      value={typed}
      maxLength={SEARCH_CHARS_MAX}
      placeholder={TEXTS.words.fields.nameDomainOrId}
      onInput={setTyped}
    />
  )
}

/** Names in the URL: texts that the URL of a page contains, and pages themselves. */
const PAGE_OPERATORS = ['at', 'page_is'] as const
type PageOperator = (typeof PAGE_OPERATORS)[number]

interface PageChipProps {
  readonly operator: PageOperator
  readonly pages: readonly string[]
  /** In words; undefined: it does not filter. */
  readonly summary: string | undefined
  /** Least visits with one of them. */
  readonly visits: number | undefined
  readonly onChange: (operator: PageOperator, pages: readonly string[], visits: string) => void
}

/** The pages that a company read, and the number of visits. */
function PageChip({ operator, pages, summary, visits, onChange }: PageChipProps) {
  return (
    <Chip label={texts.page} summary={summary} onClear={() => onChange(operator, [], '')}>
      {(close) => (
        <PageForm
          operator={operator}
          pages={pages}
          visits={visits}
          onChange={(...changed) => {
            close()
            onChange(...changed)
          }}
        />
      )}
    </Chip>
  )
}

function PageForm({ operator, pages, visits, onChange }: Omit<PageChipProps, 'summary'>) {
  const [chosen, setChosen] = useState(operator)
  const [page, setPage] = useState(pages[0] ?? '')
  const [least, setLeast] = useState(visits === undefined ? '' : String(visits))
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const first = page.trim()
        // A segment may have more pages than the field shows.
        const wanted = first === '' ? [] : first === pages[0] ? pages : [first]
        onChange(chosen, wanted, first === '' ? '' : least)
      }}
    >
      <Stack gap={3}>
        <Segmented
          label={texts.howCompared}
          value={chosen}
          options={[
            { value: 'at', label: texts.contains },
            { value: 'page_is', label: texts.is },
          ]}
          onChange={(value) => setChosen(value as PageOperator)}
        />
        <TextInput
          label={chosen === 'at' ? texts.partOfAddress : texts.wholePage}
          isSmall
          value={page}
          maxLength={SEARCH_CHARS_MAX}
          onInput={setPage}
        />
        <TextInput
          label={texts.visitsWithIt}
          isSmall
          value={least}
          maxLength={6}
          inputMode="numeric"
          pattern="[0-9]*"
          placeholder="1"
          onInput={setLeast}
        />
        <Row justify="right">
          <Button type="submit" size="s">
            {TEXTS.words.buttons.apply}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}

interface TextChipProps {
  readonly label: string
  /** Label of its field. */
  readonly field: string
  /** In words; undefined: it does not filter. */
  readonly summary: string | undefined
  readonly value: string
  readonly isNumber?: boolean
  readonly isOpenAtFirst?: boolean
  readonly onChange: (value: string) => void
}

function TextChip({ label, summary, isOpenAtFirst, onChange, ...props }: TextChipProps) {
  return (
    <Chip label={label} summary={summary} isOpenAtFirst={isOpenAtFirst} onClear={() => onChange('')}>
      {(close) => (
        <TextForm
          {...props}
          onApply={(value) => {
            close()
            onChange(value)
          }}
        />
      )}
    </Chip>
  )
}

function TextForm({
  field,
  value,
  isNumber,
  onApply,
}: Pick<TextChipProps, 'field' | 'value' | 'isNumber'> & { readonly onApply: (value: string) => void }) {
  const [typed, setTyped] = useState(value)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onApply(typed.trim())
      }}
    >
      <Row gap={2} align="end" isOneLine>
        <TextInput
          label={field}
          isSmall
          value={typed}
          maxLength={isNumber ? 12 : SEARCH_CHARS_MAX}
          {...(isNumber && { inputMode: 'numeric', pattern: '[0-9]*' })}
          onInput={setTyped}
        />
        <Button type="submit" size="s">
          {TEXTS.words.buttons.apply}
        </Button>
      </Row>
    </form>
  )
}

/** A number of last days, so that a saved segment moves on. */
const SPANS = [
  ['1', texts.today],
  ['7', texts.last7],
  ['30', texts.last30],
] as const

interface OneChipProps {
  readonly label: string
  readonly value: string
  /** In words; undefined: it does not filter. */
  readonly summary: string | undefined
  /** Values and words. */
  readonly options: readonly (readonly [value: string, label: string])[]
  readonly isOpenAtFirst: boolean
  readonly onChange: (value: string) => void
}

/** A filter with one of a few values. */
function OneChip({ label, value, summary, options, isOpenAtFirst, onChange }: OneChipProps) {
  return (
    <Chip label={label} summary={summary} isOpenAtFirst={isOpenAtFirst} onClear={() => onChange('')}>
      {(close) =>
        options.map(([each, words]) => (
          <Choice
            key={each}
            label={words}
            isChosen={value === each}
            onChoose={() => {
              close()
              onChange(each)
            }}
          />
        ))
      }
    </Chip>
  )
}
