import type { ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { Dialog } from '../../components/dialog.tsx'
import { FieldError } from '../../components/field-error.tsx'
import { Time } from '../../components/time.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'

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
  const { isBusy, error, run } = useAction()
  const revoke = () =>
    run(async () => {
      onRevoked(await post<ListedKey>(`/api/tenants/${tenant}/keys/revoke`, { prefix: revoking.prefix }))
    })
  return (
    <Dialog title="Revoke this key?" onClose={onClose}>
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
      <FieldError id="revoke-error" error={error} />
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={revoke}>
          Revoke key
        </button>
      </div>
    </Dialog>
  )
}
