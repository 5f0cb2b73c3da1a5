import { Select } from '../design/field.tsx'
import { type PastChoice as Choice, PAST_CHOICES } from '../lib/past-jobs.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.pastChoice

interface PastChoiceProps {
  readonly value: Choice
  readonly onChange: (value: Choice) => void
}

/** Asks which stored visits a change of rules applies to. */
export function PastChoice({ value, onChange }: PastChoiceProps) {
  return (
    <Select
      label={texts.appliesTo}
      value={value}
      options={PAST_CHOICES}
      onChange={(next) => onChange(next as Choice)}
    />
  )
}
