import { useState } from 'preact/hooks'
import { LINK_DAYS_MAX } from '../../../../../schemas/dashboard/limits.ts'
import type { MemberLinkAnswer, SignedOutAnswer } from '../../../../../schemas/dashboard/tenants.ts'
import { CodeLine } from '../../components/code-line.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { FieldError } from '../../components/field-error.tsx'
import { Time } from '../../components/time.tsx'
import { post } from '../../lib/api.ts'
import { counted } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'

const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Creates a sign-in link for a member, and ends existing links and sessions. */
export function MemberLink({ tenant, onClose }: { readonly tenant: string; readonly onClose: () => void }) {
  const [days, setDays] = useState('7')
  const [link, setLink] = useState<MemberLinkAnswer>()
  const making = useAction()
  const make = () =>
    making.run(async () => {
      setLink(await post<MemberLinkAnswer>(`/api/tenants/${tenant}/link`, { days: Number(days) }))
    })
  const [ended, setEnded] = useState<SignedOutAnswer>()
  const signOut = () =>
    making.run(async () => {
      setEnded(await post<SignedOutAnswer>(`/api/tenants/${tenant}/sign-out`))
    })
  const url = link && new URL(link.url, location.href)
  return (
    <Dialog title={`Link for a member of ${tenant}`} onClose={onClose}>
      {link === undefined || url === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            make()
          }}
        >
          <p>It signs one person in, once. They see this tenant only, and manage its keys and rules.</p>
          <label class="field">
            <span>Days until it expires, 1 to {LINK_DAYS_MAX}</span>
            <input
              type="number"
              required
              min={1}
              max={LINK_DAYS_MAX}
              aria-describedby="link-error"
              value={days}
              onInput={(event) => setDays(event.currentTarget.value)}
            />
          </label>
          <FieldError id="link-error" error={making.error} />
          <p role="status" class="soft">
            {ended && `Ended: ${counted(ended.sessions, 'session')}, ${counted(ended.links, 'link')} not opened yet.`}
          </p>
          <div class="dialog-actions">
            <button type="button" class="danger" disabled={making.isBusy} onClick={signOut}>
              Sign all members out
            </button>
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button type="submit" class="primary" disabled={making.isBusy}>
              Create link
            </button>
          </div>
        </form>
      ) : (
        <>
          <p>
            It works once, until <Time at={link.expires_at} />. It is shown only now.
          </p>
          <CodeLine text={url.href} label="Sign-in link" />
          {LOCAL.test(url.hostname) && (
            <p class="soft">
              It works on this machine only. For other machines, put an https proxy in front of the dashboard and set
              DASHBOARD_URL.
            </p>
          )}
          <div class="dialog-actions">
            <button type="button" onClick={onClose}>
              Done
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}
