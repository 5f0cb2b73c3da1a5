import { Share2 } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { NAME_CHARS_MAX } from '../../../../schemas/dashboard/limits.ts'
import {
  SHARED_COLUMNS,
  SHARED_DAYS,
  SHARED_DAYS_USUAL,
  type SharedColumn,
} from '../../../../schemas/dashboard/shared-columns.ts'
import type { CreatedSharedLink, CreateSharedLinkBody } from '../../../../schemas/dashboard/shared-links.ts'
import { Button } from '../design/button.tsx'
import { CodeLine } from '../design/code.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Checkbox, FieldError, Fieldset, Select, TextInput } from '../design/field.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { Time } from '../design/time.tsx'
import { post } from '../lib/api.ts'
import { COLUMNS } from '../lib/company-view.ts'
import { isLocalHost } from '../lib/local-host.ts'
import { useSession } from '../lib/session.ts'
import { useAction } from '../lib/use-action.ts'

/** The companies to share: a segment, the filter of a list, or one company. */
export type Shared = Pick<CreateSharedLinkBody, 'segment_id' | 'filter' | 'company_id' | 'sort' | 'direction'>

interface ShareProps {
  readonly tenant: string
  readonly shared: Shared
  /** The title that receivers see, as a proposal. */
  readonly name: string
  /** Columns that are chosen at first. */
  readonly columns: ReadonlySet<string>
}

/** Makes a link to a list or a company, for people without an account. */
export function Share(props: ShareProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button icon={Share2} onClick={() => setOpen(true)}>
        Share
      </Button>
      {isOpen && <ShareDialog {...props} onClose={() => setOpen(false)} />}
    </>
  )
}

function ShareDialog({ onClose, ...props }: ShareProps & { readonly onClose: () => void }) {
  const [made, setMade] = useState<CreatedSharedLink>()
  const title = made === undefined ? `Share ${props.name}` : 'Send this link'
  return (
    <Dialog title={title} onClose={onClose}>
      {made === undefined ? (
        <ShareForm {...props} onMade={setMade} onClose={onClose} />
      ) : (
        <MadeLink tenant={props.tenant} made={made} onClose={onClose} />
      )}
    </Dialog>
  )
}

const NEVER = 'never'

interface ShareFormProps extends ShareProps {
  readonly onMade: (made: CreatedSharedLink) => void
  readonly onClose: () => void
}

function ShareForm({ tenant, shared, name, columns, onMade, onClose }: ShareFormProps) {
  const { role } = useSession()
  const [title, setTitle] = useState(name)
  const [days, setDays] = useState(String(SHARED_DAYS_USUAL))
  const [chosen, setChosen] = useState<ReadonlySet<SharedColumn>>(
    new Set(SHARED_COLUMNS.filter((column) => columns.has(column))),
  )
  const making = useAction()
  const make = () =>
    making.run(async () => {
      const body: CreateSharedLinkBody = {
        ...shared,
        name: title,
        columns: SHARED_COLUMNS.filter((column) => chosen.has(column)),
        days: days === NEVER ? null : (Number(days) as (typeof SHARED_DAYS)[number]),
      }
      onMade(await post<CreatedSharedLink>(`/api/tenants/${tenant}/shared-links`, body))
    })
  const toggle = (column: SharedColumn, isChosen: boolean) => {
    const next = new Set(chosen)
    if (isChosen) next.add(column)
    else next.delete(column)
    setChosen(next)
  }
  const ofTitle = making.field === 'name' ? making.error : undefined
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        make()
      }}
    >
      <Stack>
        <Text tone="soft">
          {aboutOf(shared)} Never shown: people, addresses, and what colleagues wrote, such as owner, status, tags and
          notes.
        </Text>
        <TextInput
          label="Title that they see"
          required
          maxLength={NAME_CHARS_MAX}
          autocomplete="off"
          value={title}
          error={ofTitle}
          onInput={setTitle}
        />
        <Fieldset legend="What they see beside the name">
          {SHARED_COLUMNS.map((column) => (
            <Checkbox
              key={column}
              label={COLUMNS.find(({ key }) => key === column)!.label}
              isChecked={chosen.has(column)}
              onChange={(isChosen) => toggle(column, isChosen)}
            />
          ))}
        </Fieldset>
        <Select
          label="The link works for"
          value={days}
          options={[
            ...SHARED_DAYS.map((count) => ({ value: String(count), label: `${count} days` })),
            ...(role === 'operator' ? [{ value: NEVER, label: 'As long as nobody revokes it' }] : []),
          ]}
          onChange={setDays}
        />
        <FieldError error={ofTitle === undefined ? making.error : undefined} />
        <Row justify="right">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" disabled={making.isBusy}>
            Create link
          </Button>
        </Row>
      </Stack>
    </form>
  )
}

function aboutOf({ segment_id, company_id }: Shared): string {
  const open = 'Everybody who has the link can read this, without an account.'
  if (company_id !== undefined) return `${open} They see the company as it is when they open it.`
  const whose = segment_id === undefined ? 'these filters' : 'this segment'
  return `${open} They see the companies that ${whose} ${segment_id === undefined ? 'find' : 'finds'} when they open it.`
}

interface MadeLinkProps {
  readonly tenant: string
  readonly made: CreatedSharedLink
  readonly onClose: () => void
}

function MadeLink({ tenant, made: { url, link }, onClose }: MadeLinkProps) {
  const { href, hostname } = new URL(url, location.href)
  return (
    <Stack>
      <Text tone="soft">
        {link.expires_at === null ? (
          'It works until somebody revokes it.'
        ) : (
          <>
            It works until <Time at={link.expires_at} />.
          </>
        )}{' '}
        It is shown only now. <Link href={`/t/${tenant}/settings/shared-links`}>Shared links</Link> lists it, and ends
        it.
      </Text>
      <CodeLine text={href} label="Shared link" />
      {isLocalHost(hostname) && (
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
