import { ownZone, zoneNames } from '../../../run/time-zone.ts'
import { TextInput } from '../design/field.tsx'

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
      suggestions={zoneNames()}
      hint={value === ownZone() ? 'That is the zone of your browser.' : undefined}
      value={value}
      error={error}
      onInput={onInput}
    />
  )
}
