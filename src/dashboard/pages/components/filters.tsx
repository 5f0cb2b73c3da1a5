import type { Ref } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { CompanyChoices, CountedValue } from '../../../../schemas/companies.ts'
import { Button } from '../design/button.tsx'
import { Chip, type ChipOption, Chips, FilterChip } from '../design/chip.tsx'
import { TextInput } from '../design/field.tsx'
import { Row } from '../design/layout.tsx'
import { Choice } from '../design/popover.tsx'
import { SEARCH_CHARS_MAX, viewOf } from '../lib/company-view.ts'
import { country, daysAgo } from '../lib/days.ts'
import { number } from '../lib/format.ts'
import type { UrlChange } from '../lib/url-state.ts'

interface FiltersProps {
  readonly state: URLSearchParams
  readonly choices: CompanyChoices | undefined
  readonly set: (change: UrlChange, replace?: boolean) => void
  /** The field of the search. */
  readonly searchRef: Ref<HTMLInputElement>
}

const TYPED_MS = 250
const NOT_KNOWN = '-'

/** Filters with a list of values: name in the URL, label, name in the choices, words for a value. */
const LISTS = [
  ['industry', 'Industry', 'industry', String],
  ['category', 'Category', 'category', String],
  ['country', 'Visits from', 'country', country],
  ['class', 'Class', 'classification', String],
  ['source', 'Source', 'source', String],
  ['campaign', 'Campaign', 'campaign', String],
] as const

/** Filters of the list of companies. The URL holds them. */
export function Filters({ state, choices, set, searchRef }: FiltersProps) {
  // Ignore an invalid value in the URL.
  const { visits_min, new_since } = viewOf(state)
  const change = (name: string, value: string | readonly string[]) => set({ [name]: value, page: '' })
  return (
    <search>
      <Row gap={2}>
        <Search value={state.get('q') ?? ''} inputRef={searchRef} onChange={(q) => set({ q, page: '' }, true)} />
        <Chips>
          {LISTS.map(([name, label, facet, nameOf]) => (
            <FilterChip
              key={name}
              label={label}
              values={state.getAll(name).filter((value) => value !== '')}
              options={choices && optionsOf(choices[facet], nameOf)}
              onChange={(values) => change(name, values)}
            />
          ))}
          <TextChip
            label="Page"
            field="Part of the address, such as /pricing"
            summary={state.getAll('at').join(' or ')}
            value={state.getAll('at')[0] ?? ''}
            onChange={(at) => change('at', at)}
          />
          <TextChip
            label="Visits"
            field="Visits, at least"
            summary={visits_min === undefined ? '' : `at least ${number(visits_min)}`}
            value={visits_min === undefined ? '' : String(visits_min)}
            isNumber
            onChange={(visits) => change('visits', visits)}
          />
          <NewSince value={new_since ?? ''} onChange={(value) => change('new', value)} />
        </Chips>
      </Row>
    </search>
  )
}

function optionsOf(values: readonly CountedValue[], nameOf: (value: string) => string): ChipOption[] {
  return values.map(({ value, companies }) => ({
    value: value === '' ? NOT_KNOWN : value,
    label: value === '' ? 'Not known' : nameOf(value),
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
  // The back button changes it too.
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => onChange(typed), TYPED_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <TextInput
      type="search"
      label="Search"
      isLabelHidden
      isSmall
      inputRef={inputRef}
      value={typed}
      maxLength={SEARCH_CHARS_MAX}
      placeholder="Name, domain or id"
      onInput={setTyped}
    />
  )
}

interface TextChipProps {
  readonly label: string
  /** Label of its field. */
  readonly field: string
  /** Empty: it does not filter. */
  readonly summary: string
  readonly value: string
  readonly isNumber?: boolean
  readonly onChange: (value: string) => void
}

function TextChip({ label, summary, onChange, ...props }: TextChipProps) {
  return (
    <Chip label={label} summary={summary === '' ? undefined : summary} onClear={() => onChange('')}>
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
          Apply
        </Button>
      </Row>
    </form>
  )
}

const SPANS = [
  ['Today', 0],
  ['Last 7 days', 6],
  ['Last 30 days', 29],
] as const

/** The URL holds the day, not its age, so that a shared link keeps its result. */
function NewSince({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  return (
    <Chip label="New since" summary={value === '' ? undefined : value.slice(0, 10)} onClear={() => onChange('')}>
      {(close) =>
        SPANS.map(([label, days]) => (
          <Choice
            key={label}
            label={label}
            isChosen={value === daysAgo(days)}
            onChoose={() => {
              close()
              onChange(daysAgo(days))
            }}
          />
        ))
      }
    </Chip>
  )
}
