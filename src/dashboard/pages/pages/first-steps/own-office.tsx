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
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.firstSteps.office

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
      if (job === null) toast({ text: texts.leftOutNow(subject) })
      else pastJobStarted(job)
      setTyped('')
      onChanged()
    })
  const isOut = own !== null && rules.includes(own)
  return (
    <Stack gap={3}>
      {rules.length > 0 && (
        <Text>
          {texts.leftOut(rules, (text) => (
            <Link href={`/t/${tenant}/settings/rules`}>{text}</Link>
          ))}
        </Text>
      )}
      {own !== null && !isOut && (
        <>
          <Text isMeasured>{texts.youAreAt(<strong>{own}</strong>)}</Text>
          <Row>
            <Button disabled={isBusy} onClick={() => leaveOut(own)}>
              {texts.leaveOut(own)}
            </Button>
          </Row>
        </>
      )}
      {own === null && rules.length === 0 && (
        <Text tone="soft" isMeasured>
          {texts.noAddress}
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
              label={own === null ? texts.network : texts.anotherNetwork}
              required
              maxLength={100}
              autocomplete="off"
              placeholder="203.0.113.0/24"
              value={typed}
              onInput={setTyped}
            />
          </Grow>
          <Button type="submit" disabled={isBusy || typed.trim() === ''}>
            {texts.leaveItOut}
          </Button>
        </Row>
      </form>
      <FieldError error={error} />
    </Stack>
  )
}
