import type { ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'

/** Confirms the revocation of a key, and explains its effect. */
export function RevokeKey({
  tenant,
  revoking,
  onClose,
  onRevoked,
}: {
  readonly tenant: string
  readonly revoking: ListedKey
  readonly onClose: () => void
  readonly onRevoked: (key: ListedKey) => void
}) {
  const revoke = async () => {
    onRevoked(await post<ListedKey>(`/api/tenants/${tenant}/keys/revoke`, { prefix: revoking.prefix }))
  }
  return (
    <ConfirmDialog title="Revoke this key?" confirm="Revoke key" onConfirm={revoke} onClose={onClose}>
      <p>
        <code>{revoking.prefix}</code>
      </p>
      {revoking.last_used === null ? (
        <p>It was never used, so nothing should stop.</p>
      ) : (
        <p>
          It was last used <Time at={revoking.last_used} isAgo />. Requests with it are refused (401) within a minute,
          and its events are not counted until it has another key.
        </p>
      )}
      <p>A revoked key never works again.</p>
    </ConfirmDialog>
  )
}
