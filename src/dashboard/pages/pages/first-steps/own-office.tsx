import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { FirstSteps } from '../../../../../schemas/dashboard/first-steps.ts'
import type { RulesAnswer } from '../../../../../schemas/dashboard/rules.ts'
import { Button } from '../../design/button.tsx'
import { FieldError, TextInput } from '../../design/field.tsx'
import { Grow, Row, Stack, Text } from '../../design/layout.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { pastJobStarted } from '../../lib/past-jobs.ts'
import { useAction } from '../../lib/use-action.ts'

interface OwnOfficeProps {
  readonly tenant: string
  readonly answer: FirstSteps
  readonly onChanged: () => void
}

/** Leaves out the visits of the own office: by the rule `own`, for new visits and those that are stored. */
export function OwnOffice({ tenant, answer, onChanged }: OwnOfficeProps) {
  const { own_address: own, own_rules: rules, has_events: hasEvents } = answer
  const [typed, setTyped] = useState('')
  const { isBusy, error, run } = useAction()
  const leaveOut = (subject: string) =>
    run(async () => {
      const past = hasEvents && { past: { days: null } }
      const { job } = await post<RulesAnswer>(`/api/tenants/${tenant}/rules`, {
        add: { kind: 'own', subject },
        ...past,
      })
      if (job === null) toast({ text: `Visits from ${subject} are left out from now on.` })
      else pastJobStarted(job)
      setTyped('')
      onChanged()
    })
  const isOut = own !== null && rules.includes(own)
  return (
    <Stack gap={3}>
      {rules.length > 0 && (
        <Text>
          Left out: {rules.join(', ')}. <Link href={`/t/${tenant}/settings/rules`}>Change it in Settings</Link>
        </Text>
      )}
      {own !== null && !isOut && (
        <>
          <Text isMeasured>
            You are at <strong>{own}</strong> now. Are you in your office? Then visits from there are your own.
          </Text>
          <Row>
            <Button disabled={isBusy} onClick={() => leaveOut(own)}>
              Leave out {own}
            </Button>
          </Row>
        </>
      )}
      {own === null && rules.length === 0 && (
        <Text tone="soft" isMeasured>
          This page does not see you at a public address, so it cannot offer the one of your office. Your IT knows it,
          or any page that answers “what is my IP address”.
        </Text>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          leaveOut(typed.trim())
        }}
      >
        <Row align="end">
          <Grow>
            <TextInput
              label={own === null ? 'Address or network of your office' : 'Another address or network of yours'}
              required
              maxLength={100}
              autocomplete="off"
              placeholder="203.0.113.0/24"
              value={typed}
              onInput={setTyped}
            />
          </Grow>
          <Button type="submit" disabled={isBusy || typed.trim() === ''}>
            Leave it out
          </Button>
        </Row>
      </form>
      <FieldError error={error} />
    </Stack>
  )
}
