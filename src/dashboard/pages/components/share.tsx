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
import { useSession } from '../lib/session.ts'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'
import { LocalLink } from './local-link.tsx'

const texts = TEXTS.components.share

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
        {texts.share}
      </Button>
      {isOpen && <ShareDialog {...props} onClose={() => setOpen(false)} />}
    </>
  )
}

function ShareDialog({ onClose, ...props }: ShareProps & { readonly onClose: () => void }) {
  const [made, setMade] = useState<CreatedSharedLink>()
  const title = made === undefined ? texts.shareOf(props.name) : texts.send
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
        <Text tone="soft">{texts.never(aboutOf(shared))}</Text>
        <TextInput
          label={texts.title}
          required
          maxLength={NAME_CHARS_MAX}
          autocomplete="off"
          value={title}
          error={ofTitle}
          onInput={setTitle}
        />
        <Fieldset legend={texts.columns}>
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
          label={texts.works}
          value={days}
          options={[
            ...SHARED_DAYS.map((count) => ({ value: String(count), label: texts.days(count) })),
            ...(role === 'operator' ? [{ value: NEVER, label: texts.forEver }] : []),
          ]}
          onChange={setDays}
        />
        <FieldError error={ofTitle === undefined ? making.error : undefined} />
        <Row justify="right">
          <Button onClick={onClose}>{TEXTS.words.buttons.cancel}</Button>
          <Button type="submit" variant="primary" disabled={making.isBusy}>
            {texts.create}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}

function aboutOf({ segment_id, company_id }: Shared): string {
  if (company_id !== undefined) return texts.aboutCompany
  return segment_id === undefined ? texts.aboutFilters : texts.aboutSegment
}

interface MadeLinkProps {
  readonly tenant: string
  readonly made: CreatedSharedLink
  readonly onClose: () => void
}

function MadeLink({ tenant, made: { url, link }, onClose }: MadeLinkProps) {
  const address = new URL(url, location.href)
  return (
    <Stack>
      <Text tone="soft">
        {link.expires_at === null ? texts.untilRevoked : texts.until(<Time at={link.expires_at} />)}{' '}
        {texts.shownOnce((text) => (
          <Link href={`/t/${tenant}/settings/shared-links`}>{text}</Link>
        ))}
      </Text>
      <CodeLine text={address.href} label={texts.link} />
      <LocalLink url={address} />
      <Row justify="right">
        <Button onClick={onClose}>{TEXTS.words.buttons.done}</Button>
      </Row>
    </Stack>
  )
}
