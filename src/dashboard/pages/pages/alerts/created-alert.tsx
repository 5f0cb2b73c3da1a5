import { useLayoutEffect, useRef } from 'preact/hooks'
import type { CreatedAlertAnswer } from '../../../../../schemas/dashboard/alerts.ts'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { TEXTS } from '../../texts/texts.ts'
import { TestMessage } from './test-message.tsx'
import { KIND_WORDS, whenWords } from './words.ts'

const texts = TEXTS.alerts.created

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
          {alert.unconfirmed === null ? texts.on : texts.oneStep}
        </h2>
        {alert.unconfirmed !== null && <Text>{texts.mailOnItsWay(alert.target)}</Text>}
        <Text>
          {texts.reported(
            whenWords(alert),
            alert.target,
            KIND_WORDS[alert.to],
            alert.unconfirmed === null,
            alert.digest !== null,
          )}
        </Text>
      </div>
      {secret !== null && (
        <Card title={texts.secret} isAccent>
          <Stack gap={3}>
            <Text>{texts.copyNow}</Text>
            <CodeLine text={secret} label={texts.secret} />
            <Text>{texts.checks(<code>standardwebhooks</code>)}</Text>
            <CodeLine text="new Webhook(secret).verify(body, headers)" label={texts.verifies} />
          </Stack>
        </Card>
      )}
      {alert.unconfirmed === null && <TestMessage tenant={tenant} alert={alert} />}
      <Row justify="right">
        <Button onClick={onDone}>{TEXTS.words.buttons.done}</Button>
      </Row>
    </Stack>
  )
}
