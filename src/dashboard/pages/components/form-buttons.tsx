import { Button } from '../design/button.tsx'
import { Row } from '../design/layout.tsx'

interface FormButtonsProps {
  readonly isBusy: boolean
  readonly isSmall?: boolean | undefined
  readonly onCancel: () => void
}

/** The end of a form that changes a value. */
export function FormButtons({ isBusy, isSmall, onCancel }: FormButtonsProps) {
  const size = isSmall ? 's' : 'm'
  return (
    <Row gap={2} justify="right">
      <Button size={size} onClick={onCancel}>
        Cancel
      </Button>
      <Button size={size} type="submit" variant="primary" disabled={isBusy}>
        Save
      </Button>
    </Row>
  )
}
