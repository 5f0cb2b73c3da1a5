import { useState } from 'preact/hooks'
import { FACT_LIMITS, type OwnColumn } from '../../../../schemas/facts.ts'
import { TextInput } from '../design/field.tsx'
import { correct } from '../lib/corrections.ts'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'
import { ValueForm } from './value-form.tsx'

const texts = TEXTS.components.ownValueForm

interface OwnValueFormProps {
  readonly tenant: string
  readonly company: { readonly company_id: string; readonly name: string }
  readonly column: OwnColumn
  /** Empty: none. */
  readonly value: string
  readonly changed: () => void
  readonly onClose: () => void
}

const HINTS = { text: undefined, number: texts.aNumber, date: undefined } as const

/** Asks for the value of a company in a column of the tenant's own, in its place, and stores it. */
export function OwnValueForm({
  tenant,
  company,
  column: { key, name, type },
  value,
  changed,
  onClose,
}: OwnValueFormProps) {
  const [typed, setTyped] = useState(value)
  const saving = useAction()
  const save = () =>
    saving.run(async () => {
      const body = { companies: [company.company_id], own: { [key]: typed } }
      await correct(tenant, body, texts.changed(company.name), changed)
      onClose()
    })
  return (
    <ValueForm saving={saving} isInPlace onSave={save} onCancel={onClose}>
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
    </ValueForm>
  )
}
