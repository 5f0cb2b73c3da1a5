import { useState } from 'preact/hooks'
import type { RulesBody, RulesTrialAnswer } from '../../../../../schemas/dashboard/rules.ts'
import { FieldError } from '../../components/field-error.tsx'
import { post } from '../../lib/api.ts'
import { day, number } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'

/** Shows on request the effect of a change on recent events. A new `key` resets it. */
export function DryRun({
  path,
  body,
  isEnabled,
}: {
  readonly path: string
  readonly body: RulesBody
  readonly isEnabled: boolean
}) {
  const { isBusy, error, run } = useAction()
  const [trial, setTrial] = useState<RulesTrialAnswer>()
  const ask = () =>
    run(async () => {
      setTrial(undefined)
      setTrial(await post<RulesTrialAnswer>(`${path}/try`, body))
    })
  return (
    <div class="dry-run">
      <button type="button" disabled={!isEnabled || isBusy} onClick={ask}>
        {isBusy ? 'Counting…' : 'What would it have changed?'}
      </button>
      <FieldError id={`dry-run-${Object.keys(body)[0]}-error`} error={error} />
      <div role="status">{trial !== undefined && <Outcome trial={trial} body={body} />}</div>
    </div>
  )
}

function Outcome({ trial, body }: { readonly trial: RulesTrialAnswer; readonly body: RulesBody }) {
  const { since, stored, newly_filtered, newly_held, filtered, newly_kept, unknown, without_address } = trial
  const left = Object.entries(newly_filtered)
  const held = Object.entries(newly_held)
  const kept = Object.entries(newly_kept)
  return (
    <>
      <p>
        Of the events received since {day(since)} (UTC), {number(stored)} are stored and {number(filtered)} were
        filtered. Nothing is changed yet.
      </p>
      <ul>
        {left.map(([rule, events]) => (
          <li key={rule}>
            <strong>{number(events)}</strong> of the stored events would have been filtered: <code>{rule}</code>
          </li>
        ))}
        {held.map(([rule, events]) => (
          <li key={rule}>
            <strong>{number(events)}</strong> of the stored events would have belonged to another organisation:{' '}
            <code>{rule}</code>
          </li>
        ))}
        {kept.map(([rule, events]) => (
          <li key={rule}>
            <strong>{number(events)}</strong> of the filtered events would have been kept: <code>{rule}</code>
          </li>
        ))}
        {left.length + held.length + kept.length === 0 && <li>No known event would have changed.</li>}
        {body.unclassified === 'event' && (
          <li class="soft">Events that would only have lost their account are not counted.</li>
        )}
        {unknown > 0 && (
          <li class="soft">
            {number(unknown)} filtered events are unknown: their addresses and organisations are not stored.
          </li>
        )}
        {without_address > 0 && (
          <li class="soft">
            {number(without_address)} are stored without an address, so networks were not tried on them.
          </li>
        )}
      </ul>
    </>
  )
}
