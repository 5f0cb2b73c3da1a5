import type { ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'

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
  const revoke = async () => {
    await post<ListedSource>(`/api/tenants/${tenant}/sources/revoke`, { source_id: source.source_id })
    onRevoked()
  }
  return (
    <ConfirmDialog title="Revoke this source?" confirm="Revoke source" onConfirm={revoke} onClose={onClose}>
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
    </ConfirmDialog>
  )
}
