import type { ExportPeriod } from '../../../../schemas/limits.ts'
import { TextInput } from '../design/field.tsx'
import { Segmented } from '../design/tabs.tsx'
import { momentToday, otherZone, withZone } from '../lib/days.ts'
import { hourMinute } from '../lib/format.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.schedule

interface HowOftenProps {
  readonly value: ExportPeriod
  readonly onChange: (value: ExportPeriod) => void
}

/** The days of a schedule. */
export function HowOften({ value, onChange }: HowOftenProps) {
  return (
    <Segmented
      label={texts.howOften}
      value={value}
      options={[
        { value: 'week', label: texts.everyMonday },
        { value: 'day', label: texts.everyDay },
      ]}
      onChange={(next) => onChange(next as ExportPeriod)}
    />
  )
}

interface TimeOfDayProps {
  /** HH:MM, in the zone of the workspace. */
  readonly value: string
  readonly error: string | undefined
  readonly onInput: (value: string) => void
}

/** The time of a schedule, with the same time where the reader is. */
export function TimeOfDay({ value, error, onInput }: TimeOfDayProps) {
  return (
    <TextInput
      label={withZone(texts.timeOfDay)}
      type="time"
      required
      value={value}
      hint={localHint(value)}
      error={error}
      onInput={onInput}
    />
  )
}

/** The same time for the reader; undefined when they are in the zone of the workspace. */
function localHint(at: string): string | undefined {
  if (otherZone() === undefined || !/^\d{2}:\d{2}$/.test(at)) return undefined
  return texts.forYou(hourMinute(momentToday(at)))
}
