import { FlaskConical } from 'lucide-preact'
import { useEffect, useState } from 'preact/hooks'
import type { RulesBody, RulesTrialAnswer } from '../../../../../schemas/dashboard/rules.ts'
import { Button } from '../../design/button.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Stack } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { post } from '../../lib/api.ts'
import { counted, day, number } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'

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
          {isBusy ? 'Counting…' : 'What would it have changed?'}
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
      <p>
        {since === null ? 'Of all stored events' : `Of the events received since ${day(since)} (UTC)`}. Nothing is
        changed yet.
      </p>
      <ul>
        {left.map(([rule, events]) => (
          <li key={rule}>
            <strong>{number(events)}</strong> of the stored events {isPast ? 'are hidden' : 'would have been filtered'}:{' '}
            <code>{rule}</code>
          </li>
        ))}
        {held.map(([rule, events]) => (
          <li key={rule}>
            <strong>{number(events)}</strong> of the stored events {isPast ? 'belong' : 'would have belonged'} to
            another organisation: <code>{rule}</code>
          </li>
        ))}
        {shown > 0 && (
          <li>
            <strong>{number(shown)}</strong> hidden {shown === 1 ? 'event is' : 'events are'} shown again
          </li>
        )}
        {kept.map(([rule, events]) => (
          <li key={rule}>
            <strong>{number(events)}</strong> of the {number(filtered)} filtered events would have been kept:{' '}
            <code>{rule}</code>
            {isPast && '. They come back if this workspace has an archive.'}
          </li>
        ))}
        {left.length + held.length + kept.length + shown + changed.events === 0 && (
          <li>No known event would have changed.</li>
        )}
        {trial.companies.map(({ company_id, name, visits, is_gone }) => (
          <li key={company_id}>
            {name}: {counted(visits, 'visit')}
            {is_gone && ', no visible event is left'}
          </li>
        ))}
        {changed.companies > trial.companies.length && (
          <li>and {number(changed.companies - trial.companies.length)} more companies</li>
        )}
        {body.unclassified === 'event' && <li>Events that would only have lost their account are not counted.</li>}
        {unknown > 0 && kept.length === 0 && left.length + held.length === 0 && (
          <li>{number(unknown)} filtered events are unknown: their addresses and organisations are not stored.</li>
        )}
        {without_address > 0 && (
          <li>{number(without_address)} are stored without an address, so they stay as they are.</li>
        )}
      </ul>
    </Notice>
  )
}

/** "Hides 3 companies, with 1,204 visits" */
function titleOf({ shown, changed: { companies, gone_companies, visits } }: RulesTrialAnswer): string {
  if (companies === 0 && shown > 0) return `Shows ${counted(shown, 'hidden event')} again`
  if (companies === 0) return 'No company changes'
  if (gone_companies === 0)
    return `Changes ${counted(companies, 'company', 'companies')}, with ${counted(visits, 'visit')}`
  const others = companies - gone_companies
  const rest = others > 0 ? `, and changes ${counted(others, 'company', 'companies')}` : ''
  return `Hides ${counted(gone_companies, 'company', 'companies')}${rest}, with ${counted(visits, 'visit')}`
}
