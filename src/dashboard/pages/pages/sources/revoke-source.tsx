import type { ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { Dialog } from '../../components/dialog.tsx'
import { FieldError } from '../../components/field-error.tsx'
import { Time } from '../../components/time.tsx'
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
    <Dialog title="Revoke this source?" onClose={onClose}>
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
      <FieldError id="revoke-error" error={error} />
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={revoke}>
          Revoke source
        </button>
      </div>
    </Dialog>
  )
}
