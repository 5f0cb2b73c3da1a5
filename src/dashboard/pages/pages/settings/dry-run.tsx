import { FlaskConical } from 'lucide-preact'
import { useEffect, useState } from 'preact/hooks'
import type { RulesBody, RulesTrialAnswer } from '../../../../../schemas/dashboard/rules.ts'
import { Button } from '../../design/button.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Stack } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { post } from '../../lib/api.ts'
import { withUtc } from '../../lib/day-clock.ts'
import { day } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.settings.dryRun

interface DryRunProps {
  readonly path: string
  readonly body: RulesBody
  readonly isEnabled: boolean
  /** Shows the effect without being asked. */
  readonly isAutomatic?: boolean
}

/** Long enough that a person has finished typing. */
const AUTOMATIC_AFTER_MS = 700

/** Shows the effect of a change on stored events, of `body.past` or since yesterday. A new `key` resets it. */
export function DryRun({ path, body, isEnabled, isAutomatic = false }: DryRunProps) {
  const { isBusy, error, run } = useAction()
  const [trial, setTrial] = useState<RulesTrialAnswer>()
  const ask = () =>
    run(async () => {
      setTrial(undefined)
      setTrial(await post<RulesTrialAnswer>(`${path}/try`, body))
    })
  useEffect(() => {
    if (!isAutomatic || !isEnabled) return
    const timer = setTimeout(ask, AUTOMATIC_AFTER_MS)
    return () => clearTimeout(timer)
  }, [isAutomatic, isEnabled])
  return (
    <Stack gap={2}>
      <Row>
        <Button size="s" icon={FlaskConical} disabled={!isEnabled || isBusy} onClick={ask}>
          {isBusy ? texts.counting : texts.ask}
        </Button>
      </Row>
      <FieldError error={error} />
      <div role="status">{trial !== undefined && <Outcome trial={trial} body={body} />}</div>
    </Stack>
  )
}

function Outcome({ trial, body }: { readonly trial: RulesTrialAnswer; readonly body: RulesBody }) {
  const { since, newly_filtered, newly_held, shown, filtered, newly_kept, unknown, without_address, changed } = trial
  const left = Object.entries(newly_filtered)
  const held = Object.entries(newly_held)
  const kept = Object.entries(newly_kept)
  const isPast = body.past !== undefined
  return (
    <Notice title={titleOf(trial)}>
      <p>{since === null ? texts.ofAll : texts.since(withUtc(day(since)))}</p>
      <ul>
        {left.map(([rule, events]) => (
          <li key={rule}>{texts.filtered(events, isPast, <code>{rule}</code>, strong)}</li>
        ))}
        {held.map(([rule, events]) => (
          <li key={rule}>{texts.held(events, isPast, <code>{rule}</code>, strong)}</li>
        ))}
        {shown > 0 && <li>{texts.shown(shown, strong)}</li>}
        {kept.map(([rule, events]) => (
          <li key={rule}>{texts.kept(events, filtered, <code>{rule}</code>, isPast, strong)}</li>
        ))}
        {left.length + held.length + kept.length + shown + changed.events === 0 && <li>{texts.none}</li>}
        {trial.companies.map(({ company_id, name, visits, is_gone }) => (
          <li key={company_id}>{(is_gone ? texts.companyGone : texts.company)(name, visits)}</li>
        ))}
        {changed.companies > trial.companies.length && (
          <li>{texts.more(changed.companies - trial.companies.length)}</li>
        )}
        {body.unclassified === 'event' && <li>{texts.accountsLost}</li>}
        {unknown > 0 && kept.length === 0 && left.length + held.length === 0 && <li>{texts.unknown(unknown)}</li>}
        {without_address > 0 && <li>{texts.noAddress(without_address)}</li>}
      </ul>
    </Notice>
  )
}

const strong = (text: string) => <strong>{text}</strong>

/** "Hides 3 companies, with 1,204 visits" */
function titleOf({ shown, changed: { companies, gone_companies, visits } }: RulesTrialAnswer): string {
  if (companies === 0 && shown > 0) return texts.shows(shown)
  if (companies === 0) return texts.noCompany
  if (gone_companies === 0) return texts.changes(companies, visits)
  return texts.hides(gone_companies, companies - gone_companies, visits)
}
