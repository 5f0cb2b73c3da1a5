import type { DeliveryAttempt, MessageAnswer } from '../../../../../schemas/dashboard/alerts.ts'
import { Button } from '../../design/button.tsx'
import { CodeBlock } from '../../design/code.tsx'
import { Facts } from '../../design/details.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { List, Row, Stack, Text } from '../../design/layout.tsx'
import { Problem } from '../../design/notice.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Time } from '../../design/time.tsx'
import { number } from '../../lib/format.ts'
import { indentedJson } from '../../lib/indented-json.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { answerWords, typeWords } from './words.ts'

const texts = TEXTS.alerts.message

interface MessageDialogProps {
  readonly tenant: string
  readonly messageId: string
  readonly onClose: () => void
}

/** The content of a message, and each attempt. */
export function MessageDialog({ tenant, messageId, onClose }: MessageDialogProps) {
  const { value, error, reload } = useData<MessageAnswer>(
    `/api/tenants/${tenant}/alerts/messages/${encodeURIComponent(messageId)}`,
  )
  return (
    <Dialog
      title={texts.title}
      isWide
      onClose={onClose}
      actions={<Button onClick={onClose}>{TEXTS.words.buttons.close}</Button>}
    >
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading rows={5} />}
      {value !== undefined && (
        <Stack>
          <Facts
            facts={[
              [TEXTS.words.fields.alert, value.alert_name],
              [texts.reports, typeWords(value.type)],
              value.company_name !== '' && [TEXTS.words.fields.company, value.company_name],
              [texts.made, <Time key="at" at={value.created_at} />],
              ['webhook-id', <code key="id">{value.message_id}</code>],
            ]}
          />
          {value.all_attempts.length === 0 ? (
            <Text tone="soft">{texts.notSent}</Text>
          ) : (
            <Attempts attempts={value.all_attempts} />
          )}
          <CodeBlock text={indentedJson(value.body)} label={texts.body} isWrapped />
        </Stack>
      )}
    </Dialog>
  )
}

function Attempts({ attempts }: { readonly attempts: readonly DeliveryAttempt[] }) {
  return (
    <List label={texts.attempts}>
      {attempts.map((attempt) => (
        <li key={attempt.at}>
          <Row gap={2}>
            <Time at={attempt.at} />
            <Text as="span" tone={attempt.error === null ? 'good' : 'bad'}>
              {answerWords(attempt)}
            </Text>
            <Text as="span" tone="soft" isSmall>
              {texts.after(number(attempt.took_ms))}
            </Text>
          </Row>
          {attempt.answer !== '' && (
            <Text tone="soft" isSmall>
              {attempt.answer}
            </Text>
          )}
        </li>
      ))}
    </List>
  )
}
