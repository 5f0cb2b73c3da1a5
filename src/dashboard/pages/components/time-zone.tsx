import { ownZone, zoneNames } from '../../../run/time-zone.ts'
import { TextInput } from '../design/field.tsx'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.timeZone

interface TimeZoneProps {
  readonly value: string
  readonly error: string | undefined
  readonly onInput: (value: string) => void
}

/** The time zone of a workspace. The browser completes names. */
export function TimeZoneInput({ value, error, onInput }: TimeZoneProps) {
  return (
    <TextInput
      label={texts.label}
      isMeasured
      required
      maxLength={64}
      autocomplete="off"
      spellcheck={false}
      placeholder="Europe/Berlin"
      suggestions={zoneNames()}
      hint={value === ownZone() ? texts.yours : undefined}
      value={value}
      error={error}
      onInput={onInput}
    />
  )
}
