import type { ComponentChildren } from 'preact'
import { Button } from '../design/button.tsx'
import { FieldError } from '../design/field.tsx'
import { Row, Stack } from '../design/layout.tsx'
import type { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'

interface ValueFormProps {
  readonly saving: Pick<ReturnType<typeof useAction>, 'isBusy' | 'error'>
  /** It takes the place of the value. */
  readonly isInPlace?: boolean | undefined
  readonly onSave: () => void
  readonly onCancel: () => void
  /** The field of the value. */
  readonly children: ComponentChildren
}

/** Asks for one value: its field, why it could not be saved, and the buttons. */
export function ValueForm({ saving, isInPlace, onSave, onCancel, children }: ValueFormProps) {
  const size = isInPlace ? 's' : 'm'
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSave()
      }}
    >
      <Stack gap={isInPlace ? 2 : 4}>
        {children}
        <FieldError error={saving.error} />
        <Row gap={2} justify="right">
          <Button size={size} onClick={onCancel}>
            {TEXTS.words.buttons.cancel}
          </Button>
          <Button size={size} type="submit" variant="primary" disabled={saving.isBusy}>
            {TEXTS.words.buttons.save}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}
