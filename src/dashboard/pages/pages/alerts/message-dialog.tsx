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
import { answerWords, typeWords } from './words.ts'

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
    <Dialog title="Message" isWide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading rows={5} />}
      {value !== undefined && (
        <Stack>
          <Facts
            facts={[
              ['Alert', value.alert_name],
              ['Reports', typeWords(value.type)],
              value.company_name !== '' && ['Company', value.company_name],
              ['Made', <Time key="at" at={value.created_at} />],
              ['webhook-id', <code key="id">{value.message_id}</code>],
            ]}
          />
          {value.all_attempts.length === 0 ? (
            <Text tone="soft">It was not sent yet.</Text>
          ) : (
            <Attempts attempts={value.all_attempts} />
          )}
          <CodeBlock text={indentedJson(value.body)} label="Body of the message" isWrapped />
        </Stack>
      )}
    </Dialog>
  )
}

function Attempts({ attempts }: { readonly attempts: readonly DeliveryAttempt[] }) {
  return (
    <List label="Attempts">
      {attempts.map((attempt) => (
        <li key={attempt.at}>
          <Row gap={2}>
            <Time at={attempt.at} />
            <Text as="span" tone={attempt.error === null ? 'good' : 'bad'}>
              {answerWords(attempt)}
            </Text>
            <Text as="span" tone="soft" isSmall>
              after {number(attempt.took_ms)} ms
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
