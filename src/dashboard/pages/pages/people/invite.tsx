import { useState } from 'preact/hooks'
import { EMAIL_CHARS_MAX, LINK_DAYS_MAX, NAME_CHARS_MAX } from '../../../../../schemas/dashboard/limits.ts'
import type { InviteAnswer, ListedPerson, PeopleAnswer } from '../../../../../schemas/dashboard/people.ts'
import type { TenantRole } from '../../../../../schemas/dashboard/roles.ts'
import { LocalLink } from '../../components/local-link.tsx'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Notice, sentence } from '../../design/notice.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { ROLE_OPTIONS } from './role-names.ts'

const texts = TEXTS.people.invite

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
  const name = person && (person.name ?? TEXTS.people.list.noName)
  const question = name === undefined ? texts.inviteTo(tenant) : texts.newLink(name)
  const isMailed = link?.mailed_to != null
  const done = isMailed ? texts.onItsWay : name === undefined ? texts.send : texts.sendTo(name)
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
            <Text tone="soft">{texts.thisWorkspace}</Text>
            <TextInput
              label={texts.name}
              hint={texts.aboutName}
              maxLength={NAME_CHARS_MAX}
              autocomplete="off"
              value={name}
              onInput={setName}
            />
            <TextInput
              label={texts.email}
              hint={canEmail ? texts.mailedThere : texts.recognises}
              type="email"
              maxLength={EMAIL_CHARS_MAX}
              autocomplete="off"
              value={email}
              onInput={setEmail}
            />
            <Select
              label={texts.theyMay}
              value={role}
              options={ROLE_OPTIONS}
              onChange={(next) => setRole(next as TenantRole)}
            />
          </>
        ) : (
          <Text tone="soft">{texts.oldLink}</Text>
        )}
        <TextInput
          label={texts.days(LINK_DAYS_MAX)}
          type="number"
          required
          min={1}
          max={LINK_DAYS_MAX}
          value={days}
          onInput={setDays}
        />
        <FieldError error={making.error} />
        <Row justify="right">
          <Button onClick={onClose}>{TEXTS.words.buttons.cancel}</Button>
          <Button type="submit" variant="primary" disabled={making.isBusy}>
            {canEmail && (person?.email ?? email.trim()) ? texts.sendInvitation : texts.createLink}
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
          <p>{texts.mailed(link.mailed_to)}</p>
        </Notice>
      )}
      {link.mail_problem !== null && (
        <Notice tone="warn" role="alert">
          <p>{texts.notMailed(sentence(link.mail_problem))}</p>
        </Notice>
      )}
      <Text tone="soft">{texts.signsIn(<Time at={link.expires_at} />)}</Text>
      <CodeLine text={url.href} label={texts.link} />
      <LocalLink url={url} />
      <Row justify="right">
        <Button onClick={onClose}>{TEXTS.words.buttons.done}</Button>
      </Row>
    </Stack>
  )
}
