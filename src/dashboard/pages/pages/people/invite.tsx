import { useState } from 'preact/hooks'
import { EMAIL_CHARS_MAX, LINK_DAYS_MAX, NAME_CHARS_MAX } from '../../../../../schemas/dashboard/limits.ts'
import type { InviteAnswer, ListedPerson, PeopleAnswer } from '../../../../../schemas/dashboard/people.ts'
import type { TenantRole } from '../../../../../schemas/dashboard/roles.ts'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Notice, sentence } from '../../design/notice.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'
import { isLocalHost } from '../../lib/local-host.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { ROLE_OPTIONS } from './role-names.ts'

interface InviteProps {
  readonly tenant: string
  /** A listed person who needs a new link; undefined: a new person. */
  readonly person?: ListedPerson
  readonly onInvited?: () => void
  readonly onClose: () => void
}

/** Creates a sign-in link for a person, and shows it once. */
export function Invite({ tenant, person, onInvited, onClose }: InviteProps) {
  const [link, setLink] = useState<InviteAnswer>()
  const invited = (answer: InviteAnswer) => {
    setLink(answer)
    onInvited?.()
  }
  const name = person?.name
  const question = name === undefined ? `Invite a person to ${tenant}` : `New link for ${name}`
  const isMailed = link?.mailed_to != null
  const done = isMailed
    ? 'The invitation is on its way'
    : name === undefined
      ? 'Send this link'
      : `Send this link to ${name}`
  return (
    <Dialog title={link === undefined ? question : done} onClose={onClose}>
      {link === undefined ? (
        <InviteForm tenant={tenant} person={person} onInvited={invited} onClose={onClose} />
      ) : (
        <ShownLink link={link} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface InviteFormProps extends Pick<InviteProps, 'tenant' | 'person' | 'onClose'> {
  readonly onInvited: (answer: InviteAnswer) => void
}

function InviteForm({ tenant, person, onInvited, onClose }: InviteFormProps) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<TenantRole>('member')
  const [days, setDays] = useState('7')
  const canEmail = useData<PeopleAnswer>(`/api/tenants/${tenant}/people`).value?.can_email ?? false
  const making = useAction()
  const make = () =>
    making.run(async () => {
      const path = `/api/tenants/${tenant}/people`
      const validity = { days: Number(days) }
      if (person !== undefined) {
        onInvited(await post<InviteAnswer>(`${path}/link`, { person: person.id, ...validity }))
        return
      }
      // An empty field is left out. The person is asked for a name when the link is opened.
      const facts = Object.entries({ name, email }).filter(([, text]) => text.trim() !== '')
      onInvited(await post<InviteAnswer>(`${path}/invite`, { ...Object.fromEntries(facts), role, ...validity }))
    })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        make()
      }}
    >
      <Stack>
        {person === undefined ? (
          <>
            <Text tone="soft">They see this workspace only.</Text>
            <TextInput
              label="Name"
              hint="Shown with their changes. They are asked for it if you leave it empty."
              maxLength={NAME_CHARS_MAX}
              autocomplete="off"
              value={name}
              onInput={setName}
            />
            <TextInput
              label="E-mail address (optional)"
              hint={
                canEmail
                  ? 'The invitation is mailed there. They can ask for a new sign-in link with it later.'
                  : 'Recognises a person who is invited again. Nothing is sent.'
              }
              type="email"
              maxLength={EMAIL_CHARS_MAX}
              autocomplete="off"
              value={email}
              onInput={setEmail}
            />
            <Select
              label="They may"
              value={role}
              options={ROLE_OPTIONS}
              onChange={(next) => setRole(next as TenantRole)}
            />
          </>
        ) : (
          <Text tone="soft">An unopened link of this person stops working. Their sessions stay.</Text>
        )}
        <TextInput
          label={`Days until it expires, 1 to ${LINK_DAYS_MAX}`}
          type="number"
          required
          min={1}
          max={LINK_DAYS_MAX}
          value={days}
          onInput={setDays}
        />
        <FieldError error={making.error} />
        <Row justify="right">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={making.isBusy}>
            {canEmail && (person?.email ?? email.trim()) ? 'Send invitation' : 'Create link'}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}

interface ShownLinkProps extends Pick<InviteProps, 'onClose'> {
  readonly link: InviteAnswer
}

function ShownLink({ link, onClose }: ShownLinkProps) {
  const url = new URL(link.url, location.href)
  return (
    <Stack>
      {link.mailed_to !== null && (
        <Notice tone="good" role="status">
          <p>The invitation was mailed to {link.mailed_to}. You can send the link yourself, too.</p>
        </Notice>
      )}
      {link.mail_problem !== null && (
        <Notice tone="warn" role="alert">
          <p>It could not be mailed: {sentence(link.mail_problem)} Send the link yourself.</p>
        </Notice>
      )}
      <Text tone="soft">
        It signs one person in, once, until <Time at={link.expires_at} />. It is shown only now.
      </Text>
      <CodeLine text={url.href} label="Sign-in link" />
      {isLocalHost(url.hostname) && (
        <Text tone="soft" isSmall>
          It works on this machine only. For other machines, put an https proxy in front of the dashboard and set
          DASHBOARD_URL.
        </Text>
      )}
      <Row justify="right">
        <Button onClick={onClose}>Done</Button>
      </Row>
    </Stack>
  )
}
