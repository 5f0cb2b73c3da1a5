import { useState } from 'preact/hooks'
import { FACT_LIMITS, type OwnColumn, type OwnValues } from '../../../../schemas/facts.ts'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { FieldError, TextInput } from '../design/field.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { correct } from '../lib/corrections.ts'
import { useAction } from '../lib/use-action.ts'

interface OwnDialogProps {
  readonly tenant: string
  readonly company: { readonly company_id: string; readonly name: string }
  readonly columns: readonly OwnColumn[]
  readonly values: OwnValues
  readonly changed: () => void
  readonly onClose: () => void
}

const HINTS = { text: undefined, number: 'A number', date: undefined } as const

/** Edits the values of a company in the tenant's own columns. */
export function OwnDialog({ tenant, company, columns, values, changed, onClose }: OwnDialogProps) {
  const [typed, setTyped] = useState<OwnValues>(values)
  const saving = useAction()
  const save = () =>
    saving.run(async () => {
      const own = Object.fromEntries(
        columns.flatMap(({ key }) => ((typed[key] ?? '') === (values[key] ?? '') ? [] : [[key, typed[key] ?? '']])),
      )
      await correct(tenant, { companies: [company.company_id], own }, `${company.name} was changed.`, changed)
      onClose()
    })
  return (
    <Dialog title={`Your columns: ${company.name}`} onClose={onClose}>
      {columns.length === 0 ? (
        <Stack>
          <Text isMeasured>
            There are no columns of your own yet. Import a list with one, such as employees or revenue.
          </Text>
          <Row justify="right">
            <Button onClick={onClose}>Close</Button>
          </Row>
        </Stack>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            save()
          }}
        >
          <Stack>
            {columns.map(({ key, name, type }) => (
              <TextInput
                key={key}
                label={name}
                {...(HINTS[type] !== undefined && { hint: HINTS[type] })}
                type={type === 'date' ? 'date' : 'text'}
                {...(type === 'number' && { inputMode: 'decimal' })}
                value={typed[key] ?? ''}
                maxLength={FACT_LIMITS.textMaxChars}
                autocomplete="off"
                onInput={(value) => setTyped({ ...typed, [key]: value })}
              />
            ))}
            <FieldError error={saving.error} />
            <Row justify="right">
              <Button onClick={onClose}>Cancel</Button>
              <Button type="submit" variant="primary" disabled={saving.isBusy}>
                Save
              </Button>
            </Row>
          </Stack>
        </form>
      )}
    </Dialog>
  )
}
