import { useState } from 'preact/hooks'
import type { OwnColumn } from '../../../../schemas/facts.ts'
import type { OwnTerm } from '../../../companies/own-term.ts'
import { Button } from '../design/button.tsx'
import { Chip } from '../design/chip.tsx'
import { TextInput } from '../design/field.tsx'
import { Row, Stack } from '../design/layout.tsx'
import { ownTermOf } from '../lib/own-terms.ts'
import { ownWords } from '../lib/own-words.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.ownFilters

interface OwnFiltersProps {
  readonly columns: readonly OwnColumn[]
  /** Conditions of the URL. */
  readonly terms: readonly string[]
  /** Keys of columns whose filter was just chosen. */
  readonly opened: readonly string[]
  readonly onChange: (terms: readonly string[]) => void
}

/** Filters by columns of the tenant's own. */
export function OwnFilters({ columns, terms, opened, onChange }: OwnFiltersProps) {
  const read = terms.flatMap((term) => ownTermOf(term) ?? [])
  // A link may name a column that was removed: its filter can be cleared.
  const gone = [...new Set(read.map(({ key }) => key))].filter((key) => !columns.some((column) => column.key === key))
  const all: readonly OwnColumn[] = [...columns, ...gone.map((key) => ({ key, name: key, type: 'text' as const }))]
  return all.map((column) => {
    const own = read.filter(({ key }) => key === column.key)
    if (own.length === 0 && !opened.includes(column.key)) return null
    const others = terms.filter((term) => ownTermOf(term)?.key !== column.key)
    return (
      <Chip
        key={column.key}
        label={column.name}
        summary={own.length === 0 ? undefined : ownWords(column, terms)}
        isOpenAtFirst={opened.includes(column.key)}
        onClear={() => onChange(others)}
      >
        {(close) => (
          <OwnForm
            column={column}
            terms={own}
            onApply={(next) => {
              close()
              onChange([...others, ...next])
            }}
          />
        )}
      </Chip>
    )
  })
}

interface OwnFormProps {
  readonly column: OwnColumn
  readonly terms: readonly OwnTerm[]
  readonly onApply: (terms: readonly string[]) => void
}

/** The least and the greatest value, or a part of the text. */
function OwnForm({ column: { key, name, type }, terms, onApply }: OwnFormProps) {
  const chosen = (operator: string) => terms.find((term) => term.operator === operator)?.value ?? ''
  const fields: readonly (readonly [operator: string, label: string])[] =
    type === 'text'
      ? [['~', texts.fieldContains(name)]]
      : type === 'number'
        ? [
            ['>=', texts.fieldAtLeast(name)],
            ['<=', texts.fieldAtMost(name)],
          ]
        : [
            ['>=', texts.fieldFrom(name)],
            ['<=', texts.fieldUntil(name)],
          ]
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(fields.map(([operator]) => [operator, chosen(operator)])),
  )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const next = fields.map(([operator]) => `${key}${operator}${typed[operator]!.trim()}`)
        onApply(next.filter((term) => ownTermOf(term) !== undefined))
      }}
    >
      <Stack gap={3}>
        {fields.map(([operator, label]) => (
          <TextInput
            key={operator}
            label={label}
            isSmall
            type={type === 'date' ? 'date' : 'text'}
            value={typed[operator]!}
            maxLength={200}
            {...(type === 'number' && { inputMode: 'decimal', pattern: '-?[0-9]{1,15}(\\.[0-9]{1,10})?' })}
            onInput={(value) => setTyped({ ...typed, [operator]: value })}
          />
        ))}
        <Row justify="right">
          <Button type="submit" size="s">
            {TEXTS.words.buttons.apply}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}
