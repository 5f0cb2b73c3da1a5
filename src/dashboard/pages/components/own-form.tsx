import { useState } from 'preact/hooks'
import { FACT_LIMITS, type OwnColumn } from '../../../../schemas/facts.ts'
import { FieldError, TextInput } from '../design/field.tsx'
import { Stack } from '../design/layout.tsx'
import { correct } from '../lib/corrections.ts'
import { useAction } from '../lib/use-action.ts'
import { FormButtons } from './form-buttons.tsx'

interface OwnFormProps {
  readonly tenant: string
  readonly company: { readonly company_id: string; readonly name: string }
  readonly column: OwnColumn
  /** Empty: none. */
  readonly value: string
  readonly changed: () => void
  readonly onClose: () => void
}

const HINTS = { text: undefined, number: 'A number', date: undefined } as const

/** Asks for the value of a company in a column of the tenant's own, in its place, and stores it. */
export function OwnForm({ tenant, company, column: { key, name, type }, value, changed, onClose }: OwnFormProps) {
  const [typed, setTyped] = useState(value)
  const saving = useAction()
  const save = () =>
    saving.run(async () => {
      const body = { companies: [company.company_id], own: { [key]: typed } }
      await correct(tenant, body, `${company.name} was changed.`, changed)
      onClose()
    })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <Stack gap={2}>
        <TextInput
          label={name}
          isLabelHidden
          isSmall
          {...(HINTS[type] !== undefined && { hint: HINTS[type] })}
          type={type === 'date' ? 'date' : 'text'}
          {...(type === 'number' && { inputMode: 'decimal' })}
          value={typed}
          maxLength={FACT_LIMITS.textMaxChars}
          autocomplete="off"
          onInput={setTyped}
        />
        <FieldError error={saving.error} />
        <FormButtons isBusy={saving.isBusy} isSmall onCancel={onClose} />
      </Stack>
    </form>
  )
}
