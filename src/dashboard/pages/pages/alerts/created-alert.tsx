import { useLayoutEffect, useRef } from 'preact/hooks'
import type { CreatedAlertAnswer } from '../../../../../schemas/dashboard/alerts.ts'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { TestMessage } from './test-message.tsx'
import { KIND_WORDS, whenWords } from './words.ts'

interface CreatedAlertProps {
  readonly tenant: string
  readonly created: CreatedAlertAnswer
  readonly onDone: () => void
}

/** A new alert: the secret of its webhook, which is shown only once, and a test of its destination, unless an address has to confirm. */
export function CreatedAlert({ tenant, created: { alert, secret }, onDone }: CreatedAlertProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // The form has disappeared. Without this, keyboard focus would move to the top of the page.
  useLayoutEffect(() => heading.current?.focus(), [])
  return (
    <Stack gap={5}>
      <div>
        <h2 ref={heading} tabIndex={-1}>
          {alert.unconfirmed === null ? 'The alert is on' : 'One step is left: confirm the address'}
        </h2>
        {alert.unconfirmed !== null && (
          <Text>
            A mail is on its way to {alert.target}. Its link confirms the address and works for 7 days. Until then the
            alert sends nothing.
          </Text>
        )}
        <Text>
          {whenWords(alert)}: reported to {alert.target} ({KIND_WORDS[alert.to]}), from{' '}
          {alert.unconfirmed === null ? 'now' : 'then'} on{alert.digest === null ? '' : ', on Mondays'}.
        </Text>
      </div>
      {secret !== null && (
        <Card title="Signing secret" isAccent>
          <Stack gap={3}>
            <Text>Copy it now: it is shown only once.</Text>
            <CodeLine text={secret} label="Signing secret" />
            <Text>
              Your program checks with it that a message comes from ipid, as Standard Webhooks describes. With the
              package <code>standardwebhooks</code>:
            </Text>
            <CodeLine text="new Webhook(secret).verify(body, headers)" label="Line that verifies a message" />
          </Stack>
        </Card>
      )}
      {alert.unconfirmed === null && <TestMessage tenant={tenant} alert={alert} />}
      <Row justify="right">
        <Button onClick={onDone}>Done</Button>
      </Row>
    </Stack>
  )
}
