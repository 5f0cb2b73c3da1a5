import { FlaskConical } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { RulesBody, RulesTrialAnswer } from '../../../../../schemas/dashboard/rules.ts'
import { Button } from '../../design/button.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Stack } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
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
  const { since, stored, newly_filtered, newly_held, filtered, newly_kept, unknown, without_address } = trial
  const left = Object.entries(newly_filtered)
  const held = Object.entries(newly_held)
  const kept = Object.entries(newly_kept)
  return (
    <Notice>
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
        {body.unclassified === 'event' && <li>Events that would only have lost their account are not counted.</li>}
        {unknown > 0 && (
          <li>{number(unknown)} filtered events are unknown: their addresses and organisations are not stored.</li>
        )}
        {without_address > 0 && (
          <li>{number(without_address)} are stored without an address, so networks were not tried on them.</li>
        )}
      </ul>
    </Notice>
  )
}
