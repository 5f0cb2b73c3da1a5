import { useState } from 'preact/hooks'
import type { Reenrichment } from '../../../../../schemas/dashboard/reenrichments.ts'
import type { RuleKind } from '../../../../../schemas/tenant-rules.ts'
import { PastChoice } from '../../components/past-choice.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { post } from '../../lib/api.ts'
import { type PastChoice as Choice, pastJobStarted, pastOf } from '../../lib/past-jobs.ts'
import { useAction } from '../../lib/use-action.ts'
import { DryRun } from './dry-run.tsx'

interface ApplyRuleProps {
  readonly tenant: string
  readonly rule: string
  readonly onClose: () => void
}

/** Applies a rule that exists to stored visits. Shows the effect before. */
export function ApplyRule({ tenant, rule, onClose }: ApplyRuleProps) {
  const [choice, setChoice] = useState<Choice>('90')
  const { isBusy, error, run } = useAction()
  const past = pastOf(choice)
  const apply = () =>
    run(async () => {
      const body = { rules: [rule], past }
      pastJobStarted(await post<Reenrichment>(`/api/tenants/${tenant}/reenrichments`, body))
      onClose()
    })
  const space = rule.indexOf(' ')
  const [kind, subject] = [rule.slice(0, space) as RuleKind, rule.slice(space + 1)]
  return (
    <Dialog
      title="Apply this rule to the past?"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Not now</Button>
          <Button variant="primary" disabled={isBusy || past === undefined} onClick={apply}>
            Apply
          </Button>
        </>
      }
    >
      <p>
        <code>{rule}</code>
      </p>
      <PastChoice value={choice} onChange={setChoice} />
      <DryRun
        key={choice}
        path={`/api/tenants/${tenant}/rules`}
        body={{ add: { kind, subject }, past: past ?? { days: 90 } }}
        isEnabled={past !== undefined}
        isAutomatic
      />
      <FieldError error={error} />
    </Dialog>
  )
}
