import { TextInput } from '../design/field.tsx'

interface AddressInputProps {
  readonly label: string
  readonly value: string
  readonly error: string | undefined
  readonly hint: string
  readonly onInput: (value: string) => void
}

/** Most characters of an e-mail address (RFC 5321 section 4.5.3.1, local part and domain). */
const ADDRESS_CHARS_MAX = 320

/** The e-mail address of a subscription. */
export function AddressInput({ label, value, error, hint, onInput }: AddressInputProps) {
  return (
    <TextInput
      label={label}
      type="email"
      required
      maxLength={ADDRESS_CHARS_MAX}
      placeholder="you@example.com"
      autocomplete="email"
      spellcheck={false}
      value={value}
      error={error}
      hint={hint}
      onInput={onInput}
    />
  )
}
