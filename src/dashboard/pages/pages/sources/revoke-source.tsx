import type { ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.sources.revoke

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
    <ConfirmDialog title={texts.title} confirm={texts.revoke} onConfirm={revoke} onClose={onClose}>
      <p>
        {source.name ?? source.title} <code>{source.source_id}</code>
      </p>
      {source.last_used === null ? (
        <p>{texts.neverUsed}</p>
      ) : (
        <p>{texts.lastUsed(<Time at={source.last_used} isAgo />)}</p>
      )}
      <p>{texts.final}</p>
    </ConfirmDialog>
  )
}
