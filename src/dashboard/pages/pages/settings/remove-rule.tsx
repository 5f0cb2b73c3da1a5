import { useState } from 'preact/hooks'
import type { RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { isHiding } from '../../../../../schemas/tenant-rules.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { PastChoice } from '../../components/past-choice.tsx'
import { Checkbox } from '../../design/field.tsx'
import { counted } from '../../lib/format.ts'
import { type PastChoice as Choice, pastOf } from '../../lib/past-jobs.ts'
import { DryRun } from './dry-run.tsx'

/** Confirms the removal of a rule. */
export function RemoveRule({
  path,
  rule,
  hidden,
  change,
  onClose,
}: {
  readonly path: string
  readonly rule: string
  /** Events that it hides; null: not known. */
  readonly hidden: number | null
  readonly change: (body: RulesBody) => Promise<void>
  readonly onClose: () => void
}) {
  const [past, setPast] = useState<Choice>('none')
  const span = pastOf(past)
  const body = { remove: rule, ...(span && { past: span }) }
  const remove = async () => {
    await change(body)
    onClose()
  }
  return (
    <ConfirmDialog title="Remove this rule?" confirm="Remove rule" onConfirm={remove} onClose={onClose}>
      <p>
        <code>{rule}</code>
      </p>
      {isHiding(rule) ? (
        <>
          <p>
            {hidden === null || hidden > 0
              ? `The visits that it hides${hidden === null ? '' : `, ${counted(hidden, 'event')},`} are shown again, with all their numbers.`
              : 'It hides no stored visits.'}
          </p>
          <Checkbox
            label="Also bring back visits that it filtered, from the archive of this tenant"
            isChecked={past === 'all'}
            onChange={(isChecked) => setPast(isChecked ? 'all' : 'none')}
          />
        </>
      ) : (
        <>
          <PastChoice value={past} onChange={setPast} />
          {past !== 'none' && <p>Filtered visits come back only if this tenant has an archive.</p>}
          <DryRun key={past} path={path} body={body} isEnabled isAutomatic />
        </>
      )}
    </ConfirmDialog>
  )
}
