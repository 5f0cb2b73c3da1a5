import { ChevronDown, EyeOff, GitMerge, MessageSquare, Pencil, Tag, ThumbsDown, User } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CompanyAnswer } from '../../../../../schemas/dashboard/company.ts'
import {
  CORRECTION_LIMITS,
  type CompanyCorrection,
  type CorrectedAnswer,
  type CorrectionChange,
  type CorrectionsAnswer,
  type CorrectionsBody,
} from '../../../../../schemas/dashboard/corrections.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError, TextArea, TextInput } from '../../design/field.tsx'
import { Icon } from '../../design/icon.tsx'
import { List, Row, Stack, Text } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { Menu } from '../../design/popover.tsx'
import { Time } from '../../design/time.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { companyPath } from '../../lib/company-links.ts'
import { correct } from '../../lib/corrections.ts'
import { counted } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { NotThem } from './not-them.tsx'

type Task = 'rename' | 'merge' | 'note' | 'tags' | 'owner' | 'not them'

interface ActionsProps {
  readonly tenant: string
  readonly answer: CompanyAnswer
  /** What holds; undefined: no correction does, or it is not known yet. */
  readonly correction: CompanyCorrection | undefined
  readonly changed: () => void
}

/** What a person can correct about a company. */
export function CompanyActions({ tenant, answer, correction, changed }: ActionsProps) {
  const [task, setTask] = useState<Task>()
  const { company } = answer
  const isHidden = correction?.hidden === true
  const hiding = useAction()
  const hide = () =>
    hiding.run(async () => {
      const body = { companies: [company.company_id], hidden: !isHidden }
      await correct(tenant, body, isHidden ? `${company.name} is shown again.` : `${company.name} is hidden.`, changed)
    })
  const close = () => setTask(undefined)
  const props = { tenant, answer, correction, changed, onClose: close }
  return (
    <>
      <Button icon={EyeOff} onClick={hide} disabled={hiding.isBusy}>
        {isHidden ? 'Show again' : 'Hide'}
      </Button>
      <Menu
        label="Correct this company"
        align="end"
        trigger={(trigger) => (
          <Button {...trigger} icon={Pencil}>
            Correct
            <Icon of={ChevronDown} size={14} />
          </Button>
        )}
        entries={[
          { label: 'Rename…', icon: Pencil, onSelect: () => setTask('rename') },
          { label: 'Merge into another…', icon: GitMerge, onSelect: () => setTask('merge') },
          'line',
          { label: 'Note…', icon: MessageSquare, onSelect: () => setTask('note') },
          { label: 'Tags…', icon: Tag, onSelect: () => setTask('tags') },
          { label: 'Owner…', icon: User, onSelect: () => setTask('owner') },
          'line',
          { label: 'It is not them…', icon: ThumbsDown, onSelect: () => setTask('not them') },
        ]}
      />
      <FieldError error={hiding.error} />
      {task === 'not them' && <NotThem tenant={tenant} answer={answer} changed={changed} onClose={close} />}
      {task !== undefined && task !== 'not them' && <CorrectDialog key={task} task={task} {...props} />}
    </>
  )
}

interface Form {
  readonly title: string
  readonly label: string
  readonly hint: string
  readonly maxLength: number
  readonly valueOf: (correction: CompanyCorrection | undefined, name: string) => string
  readonly wantedOf: (value: string, correction: CompanyCorrection | undefined) => Partial<CorrectionsBody>
  readonly done: string
}

const tagsOf = (text: string) => [...new Set(text.split(',').map((tag) => tag.trim()))].filter((tag) => tag !== '')

const FORMS: Readonly<Record<Exclude<Task, 'not them'>, Form>> = {
  rename: {
    ...{ title: 'Rename the company', label: 'Name', hint: 'Empty: the name that was found', done: 'It was renamed.' },
    maxLength: CORRECTION_LIMITS.nameMaxChars,
    valueOf: (_correction, name) => name,
    wantedOf: (name) => ({ name }),
  },
  merge: {
    ...{ title: 'Merge into another company', label: 'Id of the other company', done: 'It was merged.' },
    hint: 'Such as example.com, as in its address. All events count for it, past ones too. Empty: a company of its own',
    maxLength: CORRECTION_LIMITS.idMaxChars,
    valueOf: (correction) => correction?.merged_into ?? '',
    wantedOf: (merged_into) => ({ merged_into }),
  },
  note: {
    ...{ title: 'Note', label: 'Note', hint: 'Everybody who sees this tenant reads it', done: 'The note was saved.' },
    maxLength: CORRECTION_LIMITS.noteMaxChars,
    valueOf: (correction) => correction?.note ?? '',
    wantedOf: (note) => ({ note }),
  },
  tags: {
    ...{ title: 'Tags', label: 'Tags', hint: 'Separated by commas', done: 'The tags were saved.' },
    maxLength: CORRECTION_LIMITS.tags * (CORRECTION_LIMITS.tagMaxChars + 2),
    valueOf: (correction) => correction?.tags.join(', ') ?? '',
    wantedOf: (text, correction) => {
      const [wanted, now] = [tagsOf(text), correction?.tags ?? []]
      return {
        add_tags: wanted.filter((tag) => !now.includes(tag)),
        remove_tags: now.filter((tag) => !wanted.includes(tag)),
      }
    },
  },
  owner: {
    ...{ title: 'Owner', label: 'Who looks after it', hint: 'Empty: no one', done: 'The owner was saved.' },
    maxLength: CORRECTION_LIMITS.ownerMaxChars,
    valueOf: (correction) => correction?.owner ?? '',
    wantedOf: (owner) => ({ owner }),
  },
}

interface CorrectDialogProps extends ActionsProps {
  readonly task: Exclude<Task, 'not them'>
  readonly onClose: () => void
}

function CorrectDialog({ task, tenant, answer: { company }, correction, changed, onClose }: CorrectDialogProps) {
  const form = FORMS[task]
  const [value, setValue] = useState(form.valueOf(correction, company.name))
  const saving = useAction()
  const save = () =>
    saving.run(async () => {
      const body = { companies: [company.company_id], ...form.wantedOf(value.trim(), correction) }
      await correct(tenant, body, form.done, changed)
      onClose()
    })
  const field = { label: form.label, hint: form.hint, maxLength: form.maxLength, value, onInput: setValue }
  return (
    <Dialog title={form.title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          {task === 'note' ? <TextArea {...field} rows={5} /> : <TextInput {...field} autocomplete="off" />}
          <FieldError error={saving.error} />
          <Row justify="right">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" disabled={saving.isBusy}>
              Save
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}

interface StateProps {
  readonly tenant: string
  readonly correction: CompanyCorrection
}

/** What people said about a company. */
export function CorrectionState({ tenant, correction: { hidden, counts_for, note, tags, owner } }: StateProps) {
  return (
    <Stack gap={3}>
      {hidden && (
        <Notice tone="warn" title="This company is hidden">
          <p>It is left out of lists, numbers, exports and alerts until somebody shows it again.</p>
        </Notice>
      )}
      {counts_for !== '' && (
        <Notice title="This company is merged">
          <p>
            Its events count for <Link href={companyPath(tenant, counts_for)}>{counts_for}</Link>.
          </p>
        </Notice>
      )}
      {(tags.length > 0 || owner !== '') && (
        <Row gap={2}>
          {tags.map((tag) => (
            <Badge key={tag}>{tag}</Badge>
          ))}
          {owner !== '' && <Text tone="soft">Owner: {owner}</Text>}
        </Row>
      )}
      {note !== '' && <Text isMeasured>{note}</Text>}
    </Stack>
  )
}

interface HistoryProps {
  readonly tenant: string
  readonly companyId: string
  readonly changed: () => void
  /** Changes when a correction was made. */
  readonly turn: number
}

/** Who corrected what, with a button that takes it back. */
export function CorrectionHistory(props: HistoryProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Disclosure summary="History of corrections" onToggle={setOpen}>
      {isOpen ? <Changes key={props.turn} {...props} /> : null}
    </Disclosure>
  )
}

function Changes({ tenant, companyId, changed }: HistoryProps) {
  const path = `/api/tenants/${tenant}/corrections`
  const { value, error } = useData<CorrectionsAnswer>(path, { company: companyId })
  const undoing = useAction()
  const undo = (change_id: string) =>
    undoing.run(async () => {
      await post<CorrectedAnswer>(`${path}/undo`, { change_id })
      toast({ text: 'It was taken back.' })
      changed()
    })
  if (value === undefined) return <FieldError error={error?.message} />
  if (value.changes.length === 0) return <Text tone="soft">Nobody has corrected this company.</Text>
  return (
    <>
      <List label="Corrections">
        {value.changes.map((change) => (
          <li key={change.change_id}>
            <Row gap={3}>
              <Text as="span">{wordsOf(change)}</Text>
              <Text as="span" tone="soft" isSmall>
                {change.by}, <Time at={change.at} />
              </Text>
              {change.undone_by !== null ? (
                <Badge>taken back</Badge>
              ) : (
                <Button size="s" variant="quiet" disabled={undoing.isBusy} onClick={() => undo(change.change_id)}>
                  Undo
                </Button>
              )}
            </Row>
          </li>
        ))}
      </List>
      <FieldError error={undoing.error} />
    </>
  )
}

const FIELD_WORDS: Readonly<Record<string, string>> = {
  merged_into: 'merged into',
  name: 'name',
  note: 'note',
  tags: 'tags',
  owner: 'owner',
}

/** "hidden", "name: Acme", "tags: key account; of 12 companies" */
function wordsOf({ corrections, companies, undoes }: CorrectionChange): string {
  const [first] = corrections
  const words =
    first === undefined
      ? 'changed'
      : first.field === 'hidden'
        ? first.value === ''
          ? 'shown again'
          : 'hidden'
        : `${FIELD_WORDS[first.field] ?? first.field}: ${first.value.replaceAll('\n', ', ') || 'none'}`
  const of = companies > 1 ? `; of ${counted(companies, 'company', 'companies')}` : ''
  return `${undoes === null ? '' : 'taken back, now '}${words}${of}`
}
