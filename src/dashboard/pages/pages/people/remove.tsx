import type { ListedPerson } from '../../../../../schemas/dashboard/people.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { Text } from '../../design/layout.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'

interface RemoveProps {
  readonly tenant: string
  readonly person: ListedPerson
  /** The person was removed: their records may still work. */
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Confirms the removal of a person, and names its effect. */
export function RemovePerson({ tenant, person, onRemoved, onClose }: RemoveProps) {
  const { isBusy, error, run } = useAction()
  const remove = () =>
    run(async () => {
      await post(`/api/tenants/${tenant}/people/remove`, { person: person.id })
      toast({ text: `${person.name} was removed.` })
      onRemoved()
    })
  return (
    <Dialog
      title={`Remove ${person.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep</Button>
          <Button variant="danger" disabled={isBusy} onClick={remove}>
            Remove person
          </Button>
        </>
      }
    >
      <Text>
        They are signed out everywhere at once. Links that they did not open, and invitations that they made and that
        were not opened, stop working.
      </Text>
      <Text tone="soft">
        Name and e-mail address are deleted here. Their changes keep their name. The next step lists the keys, sources,
        alerts and people that they added, which keep working until you end them. They may also have seen other keys.
      </Text>
      <FieldError error={error} />
    </Dialog>
  )
}
