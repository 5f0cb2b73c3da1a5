import { Calendar, ChevronDown } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { withZone } from '../lib/days.ts'
import { day } from '../lib/format.ts'
import { TEXTS } from '../texts/texts.ts'
import { Button } from './button.tsx'
import { TextInput } from './field.tsx'
import { Icon } from './icon.tsx'
import { Row, Stack } from './layout.tsx'
import { Choice, Popover } from './popover.tsx'
import { type DayRange, daysOfRange, RANGES, type RangeName } from './ranges.ts'

const texts = TEXTS.design.dateRange

interface DateRangeProps {
  /** A named span, or days of its own; undefined: all time. */
  readonly value: RangeName | DayRange | undefined
  readonly onChange: (value: RangeName | DayRange | undefined) => void
  /** Offers "All time". */
  readonly hasAll?: boolean
}

/** Chooses a span of days: a named one, or from and to. It names the zone of the days where that is not the reader's. */
export function DateRange({ value, onChange, hasAll }: DateRangeProps) {
  return (
    <Popover
      label={texts.days}
      align="end"
      trigger={(props) => (
        <Button {...props} icon={Calendar}>
          {textOf(value)}
          <Icon of={ChevronDown} size={14} />
        </Button>
      )}
    >
      {(close) => {
        const choose = (next: DateRangeProps['value']) => {
          close()
          onChange(next)
        }
        return (
          <Stack gap={2}>
            <Stack gap={1}>
              {hasAll && (
                <Choice label={texts.allTime} isChosen={value === undefined} onChoose={() => choose(undefined)} />
              )}
              {RANGES.map(([name, label]) => (
                <Choice key={name} label={label} isChosen={value === name} onChoose={() => choose(name)} />
              ))}
            </Stack>
            <Own start={typeof value === 'string' ? daysOfRange(value) : value} onChoose={choose} />
          </Stack>
        )
      }}
    </Popover>
  )
}

/** "Last 7 days", or the days themselves. */
function textOf(value: DateRangeProps['value']): string {
  if (value === undefined) return texts.allTime
  if (typeof value === 'string') return RANGES.find(([name]) => name === value)![1]
  return value.from === value.to ? day(value.from) : `${day(value.from)} – ${day(value.to)}`
}

function Own({
  start,
  onChoose,
}: {
  readonly start: DayRange | undefined
  readonly onChoose: (range: DayRange) => void
}) {
  const [from, setFrom] = useState(start?.from ?? '')
  const [to, setTo] = useState(start?.to ?? '')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onChoose({ from, to })
      }}
    >
      <Stack gap={2}>
        <TextInput
          type="date"
          label={withZone(texts.from)}
          isSmall
          required
          min="1900-01-01"
          max={to || '2299-12-31'}
          value={from}
          onInput={setFrom}
        />
        <TextInput
          type="date"
          label={withZone(texts.to)}
          isSmall
          required
          min={from || '1900-01-01'}
          max="2299-12-31"
          value={to}
          onInput={setTo}
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
