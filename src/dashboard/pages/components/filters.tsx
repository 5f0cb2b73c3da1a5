import { useEffect, useState } from 'preact/hooks'
import type { CompanyChoices } from '../../../../schemas/companies.ts'
import { SEARCH_CHARS_MAX, viewOf } from '../lib/company-view.ts'
import { daysAgo, country as nameOfCountry } from '../lib/days.ts'
import { number } from '../lib/format.ts'

interface FiltersProps {
  readonly state: URLSearchParams
  readonly choices: CompanyChoices | undefined
  readonly set: (change: Readonly<Record<string, string>>, replace?: boolean) => void
}

const TYPED_MS = 250

/** Filters of the list of companies. The URL holds them. */
export function Filters({ state, choices, set }: FiltersProps) {
  const of = (name: string) => state.get(name) ?? ''
  // Ignore an invalid day in the URL.
  const { from = '', to = '', new_since: newSince = '' } = viewOf(state)
  const change = (name: string, value: string) => set({ [name]: value, page: '' })
  return (
    <search class="filters">
      <Search value={of('q')} onChange={(q) => set({ q, page: '' }, true)} />
      <Choice name="industry" label="Industry" value={of('industry')} of={choices?.industry} onChange={change} />
      <Choice name="category" label="Category" value={of('category')} of={choices?.category} onChange={change} />
      <Choice
        name="country"
        label="Visits from"
        value={of('country')}
        of={choices?.country}
        onChange={change}
        nameOf={nameOfCountry}
      />
      <Choice name="class" label="Class" value={of('class')} of={choices?.classification} onChange={change} />
      <DayField name="from" label="Seen from (UTC)" value={from} max={to} onChange={change} />
      <DayField name="to" label="Seen to (UTC)" value={to} min={from} onChange={change} />
      <NewSince value={newSince} onChange={(value) => change('new', value)} />
    </search>
  )
}

function Search({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value)
  // The back button changes it too.
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => onChange(typed), TYPED_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <label class="field wide">
      <span>Search</span>
      <input
        type="search"
        value={typed}
        maxLength={SEARCH_CHARS_MAX}
        placeholder="Name, domain or id"
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </label>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly of: CompanyChoices['industry'] | undefined
  readonly onChange: (name: string, value: string) => void
  readonly nameOf?: (value: string) => string
}

const NOT_KNOWN = '-'

function Choice({ name, label, value, of = [], onChange, nameOf = String }: ChoiceProps) {
  const options = of.map((choice) => ({ ...choice, value: choice.value === '' ? NOT_KNOWN : choice.value }))
  const isListed = value === '' || options.some((option) => option.value === value)
  const textOf = (text: string) => (text === NOT_KNOWN ? 'Not known' : nameOf(text))
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(name, event.currentTarget.value)}>
        <option value="">All</option>
        {!isListed && <option value={value}>{textOf(value)}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {textOf(option.value)} ({number(option.companies)})
          </option>
        ))}
      </select>
    </label>
  )
}

interface DayFieldProps {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly min?: string
  readonly max?: string
  readonly onChange: (name: string, value: string) => void
}

function DayField({ name, label, value, min, max, onChange }: DayFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="date"
        value={value}
        min={min || '1900-01-01'}
        max={max || '2299-12-31'}
        onChange={(event) => {
          if (event.currentTarget.validity.valid) onChange(name, event.currentTarget.value)
        }}
      />
    </label>
  )
}

const SPANS = [
  ['Any time', undefined],
  ['Today', 0],
  ['Last 7 days', 6],
  ['Last 30 days', 29],
] as const

/** The URL holds the day, not its age, so that a shared link keeps its result. */
function NewSince({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const spans = SPANS.map(([label, days]) => [label, days === undefined ? '' : daysAgo(days)] as const)
  return (
    <label class="field">
      <span>New since</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {!spans.some(([, day]) => day === value) && <option value={value}>{value}</option>}
        {spans.map(([label, day]) => (
          <option key={label} value={day}>
            {label}
          </option>
        ))}
      </select>
    </label>
  )
}
