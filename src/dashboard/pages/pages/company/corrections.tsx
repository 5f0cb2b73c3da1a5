import { ChevronDown, EyeOff, GitMerge, Pencil, ThumbsDown } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CompanyAnswer } from '../../../../../schemas/dashboard/company.ts'
import type {
  CompanyCorrection,
  CorrectionsAnswer,
  HidingChange,
} from '../../../../../schemas/dashboard/corrections.ts'
import { CorrectDialog } from '../../components/correct-dialog.tsx'
import { CorrectionChanges } from '../../components/correction-changes.tsx'
import { MergeDialog } from '../../components/merge-dialog.tsx'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { FieldError } from '../../design/field.tsx'
import { Icon } from '../../design/icon.tsx'
import { List, Row, Stack, Text } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { Menu } from '../../design/popover.tsx'
import { Time } from '../../design/time.tsx'
import { companyPath } from '../../lib/company-links.ts'
import { correct } from '../../lib/corrections.ts'
import { useMay } from '../../lib/may.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { NotThem } from './not-them.tsx'

const texts = TEXTS.company.corrections

type Task = 'rename' | 'not them' | 'merge'

interface ActionsProps {
  readonly tenant: string
  readonly answer: CompanyAnswer
  /** The corrections in force; undefined: none, or not known yet. */
  readonly correction: CompanyCorrection | undefined
  readonly changed: () => void
}

/** The corrections that a person can make to a company. */
export function CompanyActions({ tenant, answer, correction, changed }: ActionsProps) {
  const [task, setTask] = useState<Task>()
  const { company } = answer
  const isHidden = correction?.hidden === true
  const hiding = useAction()
  const hide = () =>
    hiding.run(async () => {
      const body = { companies: [company.company_id], hidden: !isHidden }
      await correct(tenant, body, isHidden ? texts.shownAgain(company.name) : texts.isHidden(company.name), changed)
    })
  const close = () => setTask(undefined)
  if (!useMay('member')) return null
  return (
    <>
      <Button icon={EyeOff} onClick={hide} disabled={hiding.isBusy}>
        {isHidden ? texts.showAgain : texts.hide}
      </Button>
      <Menu
        label={texts.editThis}
        align="end"
        trigger={(trigger) => (
          <Button {...trigger} icon={Pencil}>
            {texts.edit}
            <Icon of={ChevronDown} size={14} />
          </Button>
        )}
        entries={[
          { label: texts.rename, icon: Pencil, onSelect: () => setTask('rename') },
          { label: texts.merge, icon: GitMerge, onSelect: () => setTask('merge') },
          'line',
          { label: texts.notThem, icon: ThumbsDown, onSelect: () => setTask('not them') },
        ]}
      />
      <FieldError error={hiding.error} />
      {task === 'not them' && <NotThem tenant={tenant} answer={answer} changed={changed} onClose={close} />}
      {task === 'merge' && (
        <MergeDialog tenant={tenant} companies={[company]} correction={correction} changed={changed} onClose={close} />
      )}
      {task === 'rename' && (
        <CorrectDialog
          task="rename"
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

/** Whether a company is hidden or merged. Nothing if it is neither. */
export function CorrectionState({ tenant, correction }: StateProps) {
  const { hidden, counts_for, merged_from } = correction
  if (!hidden && counts_for === '' && merged_from.length === 0) return null
  return (
    <Stack gap={3}>
      {hidden && (
        <Notice tone="warn" title={texts.hiddenTitle}>
          <p>{texts.hiddenAbout}</p>
        </Notice>
      )}
      {counts_for !== '' && (
        <Notice title={texts.mergedTitle}>
          <p>{texts.countsFor(<Link href={companyPath(tenant, counts_for)}>{counts_for}</Link>)}</p>
        </Notice>
      )}
      {merged_from.length > 0 && (
        <Row gap={2}>
          <Text as="span" tone="soft">
            {texts.merged}
          </Text>
          {merged_from.map((id) => (
            <Link key={id} href={companyPath(tenant, id)}>
              {id}
            </Link>
          ))}
        </Row>
      )}
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

/** Corrections with their authors, and a button to undo each. */
export function CorrectionHistory(props: HistoryProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Disclosure summary={texts.history} onToggle={setOpen}>
      {isOpen ? <Changes key={props.turn} {...props} /> : null}
    </Disclosure>
  )
}

function Changes({ tenant, companyId, changed }: HistoryProps) {
  const { value, error } = useData<CorrectionsAnswer>(`/api/tenants/${tenant}/corrections`, { company: companyId })
  if (value === undefined) return <FieldError error={error?.message} />
  const { changes, hidings } = value
  return (
    <Stack gap={3}>
      <HidingList tenant={tenant} hidings={hidings} />
      {(changes.length > 0 || hidings.length === 0) && (
        <CorrectionChanges
          tenant={tenant}
          changes={changes}
          companyId={companyId}
          none={texts.none}
          changed={changed}
        />
      )}
    </Stack>
  )
}

/** The effect of rules on the events of the company. */
function HidingList({ tenant, hidings }: { readonly tenant: string; readonly hidings: readonly HidingChange[] }) {
  if (hidings.length === 0) return null
  return (
    <List label={texts.rules}>
      {hidings.map(({ at, by, action, rule, events }) => (
        <li key={`${at} ${action} ${rule}`}>
          <Row gap={3}>
            <Text as="span">
              {rule === ''
                ? texts.byType(events, action)
                : texts.byRule(
                    events,
                    action,
                    <Link href={`/t/${tenant}/settings/rules`}>
                      <code>{rule}</code>
                    </Link>,
                  )}
            </Text>
            <Text as="span" tone="soft" isSmall>
              {by}, <Time at={at} />
            </Text>
          </Row>
        </li>
      ))}
    </List>
  )
}
