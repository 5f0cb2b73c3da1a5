import { ChevronDown, EyeOff, GitMerge, MessageSquare, Pencil, Tag, ThumbsDown, User } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CompanyAnswer } from '../../../../../schemas/dashboard/company.ts'
import type {
  CompanyCorrection,
  CorrectedAnswer,
  CorrectionChange,
  CorrectionsAnswer,
} from '../../../../../schemas/dashboard/corrections.ts'
import { CorrectDialog, type CorrectTask } from '../../components/correct-dialog.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { FieldError } from '../../design/field.tsx'
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

type Task = CorrectTask | 'not them'

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
      {task !== undefined && task !== 'not them' && (
        <CorrectDialog
          key={task}
          task={task}
          tenant={tenant}
          companies={[company]}
          correction={correction}
          changed={changed}
          onClose={close}
        />
      )}
    </>
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
