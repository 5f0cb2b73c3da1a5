import type { ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'

/** Confirms the revocation of a source, and explains its effect. */
export function RevokeSource({
  tenant,
  source,
  onClose,
  onRevoked,
}: {
  readonly tenant: string
  readonly source: ListedSource
  readonly onClose: () => void
  readonly onRevoked: () => void
}) {
  const { isBusy, error, run } = useAction()
  const revoke = () =>
    run(async () => {
      await post<ListedSource>(`/api/tenants/${tenant}/sources/revoke`, { source_id: source.source_id })
      onRevoked()
    })
  return (
    <Dialog
      title="Revoke this source?"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="danger" disabled={isBusy} onClick={revoke}>
            Revoke source
          </Button>
        </>
      }
    >
      <p>
        {source.name ?? source.title} <code>{source.source_id}</code>
      </p>
      {source.last_used === null ? (
        <p>Its key was never used, so nothing should stop.</p>
      ) : (
        <p>
          Its key was last used <Time at={source.last_used} isAgo />. Requests with it are refused (401) within a
          minute. Its events stay.
        </p>
      )}
      <p>A revoked key never works again.</p>
      <FieldError error={error} />
    </Dialog>
  )
}
