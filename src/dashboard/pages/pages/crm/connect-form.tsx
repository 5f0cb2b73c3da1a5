import { useState } from 'preact/hooks'
import type { ConnectCrmBody } from '../../../../../schemas/dashboard/crm.ts'
import { Button } from '../../design/button.tsx'
import { CodeBlock } from '../../design/code.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { useSegments } from '../../lib/segments.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.crm.connect

const SCOPES = [
  ...['crm.objects.companies.read', 'crm.objects.companies.write', 'crm.schemas.companies.read'],
  ...['crm.schemas.companies.write', 'crm.objects.owners.read'],
]

interface ConnectFormProps {
  readonly tenant: string
  readonly segmentId?: string | undefined
  readonly onConnected: () => void
  /** Undefined: there is nothing to go back to. */
  readonly onCancel?: () => void
}

/** Asks for the token of a private app, and for the companies to send. */
export function ConnectForm({ tenant, segmentId = '', onConnected, onCancel }: ConnectFormProps) {
  const { segments = [] } = useSegments()
  const [token, setToken] = useState('')
  const [segment, setSegment] = useState(segmentId)
  const connecting = useAction()
  const submit = () =>
    connecting.run(async () => {
      const body: ConnectCrmBody = { token: token.trim(), ...(segment !== '' && { segment_id: segment }) }
      await post(`/api/tenants/${tenant}/crm/connect`, body)
      toast({ text: texts.connected })
      onConnected()
    })
  const errorOf = (field: string) => (connecting.field === field ? connecting.error : undefined)
  const isOther = !['token', 'segment'].includes(connecting.field ?? '')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack gap={5}>
        <Card title={texts.create}>
          <Stack>
            <Text>{texts.aboutCreate}</Text>
            <CodeBlock label={texts.scopes} text={SCOPES.join('\n')} />
          </Stack>
        </Card>
        <Card title={texts.connect}>
          <Stack>
            <TextInput
              label={texts.token}
              type="password"
              required
              autocomplete="off"
              spellcheck={false}
              value={token}
              placeholder="pat-eu1-…"
              hint={texts.aboutToken}
              error={errorOf('token')}
              onInput={setToken}
            />
            <Select
              label={texts.companies}
              value={segment}
              error={errorOf('segment')}
              options={[
                { value: '', label: texts.allWithDomain },
                ...segments.map(({ segment_id: value, name }) => ({ value, label: texts.segment(name) })),
              ]}
              onChange={setSegment}
            />
            <Text tone="soft">{texts.properties}</Text>
          </Stack>
        </Card>
        <FieldError error={isOther ? connecting.error : undefined} />
        <Row justify="right">
          {onCancel && <Button onClick={onCancel}>{TEXTS.words.buttons.cancel}</Button>}
          <Button type="submit" variant="primary" disabled={connecting.isBusy || token.trim() === ''}>
            {texts.connectHubSpot}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}
