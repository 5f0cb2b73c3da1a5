import './chip.css'
import { ChevronDown, X } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { number } from '../lib/format.ts'
import { TEXTS } from '../texts/texts.ts'
import { Button } from './button.tsx'
import { classes } from './classes.ts'
import { TextInput } from './field.tsx'
import { Icon } from './icon.tsx'
import { Row, Text } from './layout.tsx'
import { Popover } from './popover.tsx'

const texts = TEXTS.design.chip

/** Filters beside each other. */
export function Chips({ children }: { readonly children: ComponentChildren }) {
  return <div class="ui-chips">{children}</div>
}

interface ChipProps {
  /** Name of the filter. */
  readonly label: string
  /** The chosen value, in words; undefined: it does not filter. */
  readonly summary?: string | undefined
  readonly onClear: () => void
  /** Opens its choice as soon as it is drawn. */
  readonly isOpenAtFirst?: boolean
  /** The choice, in a popover. */
  readonly children: (close: () => void) => ComponentChildren
}

/** A filter of any kind: its name and value, a choice that opens, a cross that clears it. */
export function Chip({ label, summary, onClear, isOpenAtFirst, children }: ChipProps) {
  const isSet = summary !== undefined
  return (
    <span class={classes('ui-chip', isSet && 'is-set')}>
      <Popover
        label={label}
        isOpenAtFirst={isOpenAtFirst}
        trigger={({ buttonRef, ...props }) => (
          <button type="button" ref={buttonRef} {...props}>
            <span>{isSet ? `${label}:` : label}</span>
            {isSet ? <span class="ui-chip-values">{summary}</span> : <Icon of={ChevronDown} size={14} />}
          </button>
        )}
      >
        {children}
      </Popover>
      {isSet && (
        <button type="button" aria-label={texts.clear(label)} onClick={onClear}>
          <Icon of={X} size={14} />
        </button>
      )}
    </span>
  )
}

/** A value that a chip offers. */
export interface ChipOption {
  readonly value: string
  readonly label: string
  /** How many rows it would leave. */
  readonly count?: number
}

interface FilterChipProps {
  readonly label: string
  /** Any of them; empty: all. */
  readonly values: readonly string[]
  /** Undefined while they load. A chosen value is listed even when it is missing here. */
  readonly options: readonly ChipOption[] | undefined
  readonly isOpenAtFirst?: boolean
  readonly onChange: (values: string[]) => void
}

const SEARCHED_FROM = 8

/** A choice belongs to no form, not even to one around its chip: Enter in it would send that form. */
const NO_FORM = { form: '' }

/** A filter with several values: any of them. */
export function FilterChip({ label, values, options, isOpenAtFirst, onChange }: FilterChipProps) {
  const all = options ?? []
  const nameOf = (value: string) => all.find((option) => option.value === value)?.label ?? value
  const summary =
    values.length > 2 ? texts.andMore(nameOf(values[0]!), values.length - 1) : texts.anyOf(values.map(nameOf))
  return (
    <Chip
      label={label}
      summary={values.length === 0 ? undefined : summary}
      isOpenAtFirst={isOpenAtFirst}
      onClear={() => onChange([])}
    >
      {() => <Options label={label} values={values} options={options} onChange={onChange} />}
    </Chip>
  )
}

function Options({ label, values, options, onChange }: FilterChipProps) {
  const [text, setText] = useState('')
  // Chosen values first, in the order that they had when the chip opened, so that nothing moves under the pointer.
  const [first] = useState(() => new Set(values))
  const known = options ?? []
  const missing = [...first].filter((value) => !known.some((option) => option.value === value))
  const all: ChipOption[] = [
    ...missing.map((value) => ({ value, label: value })),
    ...known.filter(({ value }) => first.has(value)),
    ...known.filter(({ value }) => !first.has(value)),
  ]
  const shown = all.filter((option) => option.label.toLowerCase().includes(text.trim().toLowerCase()))
  const toggle = (value: string) =>
    onChange(values.includes(value) ? values.filter((each) => each !== value) : [...values, value])
  return (
    <>
      {all.length >= SEARCHED_FROM && (
        <TextInput
          {...NO_FORM}
          type="search"
          label={texts.find(label)}
          isLabelHidden
          isSmall
          value={text}
          onInput={setText}
        />
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would draw a border */}
      <div class="ui-chip-options" role="group" aria-label={label}>
        {shown.map((option) => (
          <label key={option.value} class="ui-chip-option">
            <input
              {...NO_FORM}
              type="checkbox"
              checked={values.includes(option.value)}
              onChange={() => toggle(option.value)}
            />
            <span>{option.label}</span>
            {option.count !== undefined && <span>{number(option.count)}</span>}
          </label>
        ))}
        {shown.length === 0 && (
          <Text tone="soft" isSmall>
            {options === undefined ? TEXTS.words.states.loading : texts.nothing}
          </Text>
        )}
      </div>
      {values.length > 0 && (
        <Row justify="right">
          <Button size="s" variant="quiet" onClick={() => onChange([])}>
            {texts.clearAll}
          </Button>
        </Row>
      )}
    </>
  )
}
