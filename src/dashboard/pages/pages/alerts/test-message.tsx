import { useEffect, useRef, useState } from 'preact/hooks'
import type { ListedAlert, MessageAnswer, TestedAlertAnswer } from '../../../../../schemas/dashboard/alerts.ts'
import { Button } from '../../design/button.tsx'
import { CodeBlock } from '../../design/code.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Notice, sentence } from '../../design/notice.tsx'
import { get, post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.alerts.test

/** A receiver has 15 s to answer. */
const WAIT_MS = 25_000
const LOOK_EVERY_MS = 400

interface Test {
  readonly isBusy: boolean
  readonly error: string | undefined
  /** The message and its answer; undefined: none yet. */
  readonly result: MessageAnswer | undefined
  send(): void
}

/** Sends an example and waits for the answer. */
function useTest(tenant: string, alertId: string, onAnswered?: () => void): Test {
  const [result, setResult] = useState<MessageAnswer>()
  const { isBusy, error, run } = useAction()
  const isGone = useRef(false)
  useEffect(
    () => () => {
      isGone.current = true
    },
    [],
  )
  const send = () =>
    run(async () => {
      setResult(undefined)
      const path = `/api/tenants/${tenant}/alerts`
      const { message_id } = await post<TestedAlertAnswer>(`${path}/test`, { alert_id: alertId })
      const untilMs = performance.now() + WAIT_MS
      while (!isGone.current) {
        const message = await get<MessageAnswer>(`${path}/messages/${message_id}`)
        if (message.last_attempt !== null) {
          setResult(message)
          onAnswered?.()
          return
        }
        if (performance.now() > untilMs) {
          throw new Error(texts.notSent(WAIT_MS / 1_000))
        }
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
      }
    })
  return { isBusy, error, result, send }
}

interface TestMessageProps {
  readonly tenant: string
  readonly alert: ListedAlert
  readonly onAnswered?: () => void
}

/** A button that sends an example, and the answer. */
export function TestMessage({ tenant, alert, onAnswered }: TestMessageProps) {
  const test = useTest(tenant, alert.alert_id, onAnswered)
  return (
    <Stack gap={3}>
      <Row>
        <Button disabled={test.isBusy} onClick={test.send}>
          {test.result === undefined ? texts.send : texts.sendAnother}
        </Button>
      </Row>
      <Answer test={test} alert={alert} />
    </Stack>
  )
}

/** Sends an example at once, and shows the answer. */
export function TestDialog({ onClose, ...props }: TestMessageProps & { readonly onClose: () => void }) {
  const test = useTest(props.tenant, props.alert.alert_id, props.onAnswered)
  useEffect(test.send, [])
  return (
    <Dialog
      title={texts.title(props.alert.name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.words.buttons.close}</Button>
          <Button disabled={test.isBusy} onClick={test.send}>
            {texts.another}
          </Button>
        </>
      }
    >
      <Answer test={test} alert={props.alert} />
    </Dialog>
  )
}

function Answer({ test, alert }: { readonly test: Test; readonly alert: ListedAlert }) {
  const { isBusy, error, result } = test
  const last = result?.last_attempt
  return (
    <div role="status">
      {isBusy && <Text tone="soft">{texts.sending(alert.target)}</Text>}
      {error !== undefined && <Notice tone="bad">{sentence(error)}</Notice>}
      {last && (
        <Notice
          tone={last.error === null ? 'good' : 'bad'}
          title={last.error === null ? texts.delivered : texts.notDelivered}
        >
          <p>
            {last.error === null
              ? texts.answer(alert.target, last.status, last.took_ms)
              : sentence(`${alert.target}: ${last.error}`)}
          </p>
          {last.answer !== '' && <CodeBlock text={last.answer} label={texts.answerStart} isWrapped isPlain />}
        </Notice>
      )}
    </div>
  )
}
