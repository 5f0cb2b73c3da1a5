import type { ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { Time } from '../../design/time.tsx'
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
    <Dialog
      title="Revoke this key?"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="danger" disabled={isBusy} onClick={revoke}>
            Revoke key
          </Button>
        </>
      }
    >
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
      <FieldError error={error} />
    </Dialog>
  )
}
