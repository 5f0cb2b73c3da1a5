import { TextInput } from '../design/field.tsx'
import { zoneOfReader } from '../lib/days.ts'

interface TimeZoneProps {
  readonly value: string
  readonly error: string | undefined
  readonly onInput: (value: string) => void
}

/** The time zone of a workspace. The browser completes names. */
export function TimeZoneInput({ value, error, onInput }: TimeZoneProps) {
  return (
    <TextInput
      label="Time zone"
      required
      maxLength={64}
      autocomplete="off"
      spellcheck={false}
      placeholder="Europe/Berlin"
      suggestions={['UTC', ...Intl.supportedValuesOf('timeZone')]}
      hint={value === zoneOfReader() ? 'That is the zone of your browser.' : undefined}
      value={value}
      error={error}
      onInput={onInput}
    />
  )
}
