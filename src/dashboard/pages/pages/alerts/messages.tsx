import { MailSearch } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { AlertsAnswer, ListedMessage, MessagesAnswer } from '../../../../../schemas/dashboard/alerts.ts'
import { CompanyLink } from '../../components/company-link.tsx'
import { Badge, type Tone } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { FieldError, Select } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { EmptyState, Problem } from '../../design/notice.tsx'
import { Page } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { Segmented } from '../../design/tabs.tsx'
import { Time } from '../../design/time.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import type { PageProps } from '../../lib/page-props.ts'
import { useUrlState } from '../../lib/url-state.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { AlertTabs } from './alert-tabs.tsx'
import { MessageDialog } from './message-dialog.tsx'
import { answerWords, typeWords } from './words.ts'

const texts = TEXTS.alerts.messages

const LOOK_EVERY_MS = 5_000
const STATES = ['waiting', 'failed', 'delivered'] as const

/** Messages of alerts: the state of each, the receiver's answer, and "send again". */
export function Messages({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  return <OfTenant key={tenant} tenant={tenant} />
}

function OfTenant({ tenant }: { readonly tenant: string }) {
  const [state, set] = useUrlState()
  const wanted = STATES.find((name) => name === state.get('state')) ?? ''
  const [alert, before] = [state.get('alert') ?? '', state.get('before') ?? '']
  const path = `/api/tenants/${tenant}/alerts`
  const { value: known } = useData<AlertsAnswer>(path)
  const query = { state: wanted, alert, before }
  const list = useData<MessagesAnswer>(`${path}/messages`, query, LOOK_EVERY_MS)
  const [shown, setShown] = useState<string>()
  const sending = useAction()
  const sendAgain = ({ message_id, company_name: name, type }: ListedMessage) =>
    sending.run(async () => {
      await post(`${path}/messages/send-again`, { message_id })
      toast({ text: name === '' ? texts.againOfType(typeWords(type)) : texts.againAbout(name) })
      list.reload()
    })
  const { messages = [], next = null } = list.value ?? {}
  return (
    <Page title={texts.title} description={texts.about}>
      <AlertTabs tenant={tenant} current="messages" />
      <Row>
        <Segmented
          label={TEXTS.words.fields.state}
          value={wanted}
          options={[{ value: '', label: texts.all }, ...STATES.map((value) => ({ value, label: STATE_WORDS[value] }))]}
          onChange={(next) => set({ state: next, before: '' })}
        />
        <Select
          label={TEXTS.words.fields.alert}
          isLabelHidden
          value={alert}
          options={[
            { value: '', label: texts.allAlerts },
            ...(known?.alerts ?? []).map(({ alert_id: value, name: label }) => ({ value, label })),
          ]}
          onChange={(next) => set({ alert: next, before: '' })}
        />
      </Row>
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      <FieldError error={sending.error} />
      {list.value === undefined && list.error === undefined && <Loading rows={6} rowHeight={44} />}
      {list.value !== undefined && messages.length === 0 && (
        <Nothing isFiltered={wanted !== '' || alert !== ''} isFirst={before === ''} isMore={next !== null} />
      )}
      {messages.length > 0 && (
        <MessageTable
          tenant={tenant}
          messages={messages}
          isBusy={sending.isBusy}
          onShow={setShown}
          onSendAgain={sendAgain}
        />
      )}
      {(before !== '' || next !== null) && (
        <Row>
          <Button disabled={before === ''} onClick={() => set({ before: '' })}>
            {texts.newest}
          </Button>
          <Button disabled={next === null} onClick={() => set({ before: next ?? '' })}>
            {texts.older}
          </Button>
        </Row>
      )}
      {shown !== undefined && <MessageDialog tenant={tenant} messageId={shown} onClose={() => setShown(undefined)} />}
    </Page>
  )
}

/** A mail that asks to confirm an address: it is sent while its alert waits. The list of alerts can send another. */
const CONFIRM = 'alert.confirm'

const STATE_WORDS = {
  waiting: texts.states.waiting,
  failed: texts.states.failed,
  delivered: texts.states.delivered,
} as const
const TONES: Readonly<Record<ListedMessage['state'], Tone>> = { waiting: 'warn', failed: 'bad', delivered: 'good' }

function Nothing(props: { readonly isFiltered: boolean; readonly isFirst: boolean; readonly isMore: boolean }) {
  const { isFiltered, isFirst, isMore } = props
  if (isMore) {
    return (
      <EmptyState icon={MailSearch} title={texts.noneOfLatest}>
        <p>{texts.lookBack}</p>
      </EmptyState>
    )
  }
  if (isFiltered) return <EmptyState icon={MailSearch} title={texts.noMatch} />
  return (
    <EmptyState icon={MailSearch} title={isFirst ? texts.none : texts.noOlder}>
      <p>{texts.aboutMessages}</p>
    </EmptyState>
  )
}

interface MessageTableProps {
  readonly tenant: string
  readonly messages: readonly ListedMessage[]
  readonly isBusy: boolean
  readonly onShow: (messageId: string) => void
  readonly onSendAgain: (message: ListedMessage) => void
}

/** Whether a message is about one company, which has a page. */
const hasCompany = ({ company_id: id, type }: Pick<ListedMessage, 'company_id' | 'type'>) =>
  id !== '' && type !== 'alert.test'

function MessageTable({ tenant, messages, isBusy, onShow, onSendAgain }: MessageTableProps) {
  const ids = messages.filter(hasCompany).map(({ company_id: id }) => id)
  return (
    <Table
      label={texts.messages}
      rows={messages}
      keyOf={({ message_id: id }) => id}
      columns={[
        {
          key: 'company',
          label: TEXTS.words.fields.company,
          text: 'wrap',
          render: ({ company_id: id, company_name: name, type }) => (
            <Stack gap={1}>
              {!hasCompany({ company_id: id, type }) ? (
                <span>{type === CONFIRM ? texts.noCompany : name === '' ? texts.several : name}</span>
              ) : (
                <CompanyLink tenant={tenant} id={id} among={ids}>
                  {name}
                </CompanyLink>
              )}
              <Text tone="soft" isSmall>
                {typeWords(type)}
              </Text>
            </Stack>
          ),
        },
        { key: 'alert', label: TEXTS.words.fields.alert, text: 'wrap', render: ({ alert_name: name }) => name },
        { key: 'at', label: texts.made, render: ({ created_at: at }) => <Time at={at} isAgo /> },
        {
          key: 'state',
          label: TEXTS.words.fields.state,
          text: 'wrap',
          inCard: 'whole',
          render: (message) => <State message={message} />,
        },
        { key: 'attempts', label: texts.attempts, isNumber: true, render: ({ attempts }) => attempts },
        {
          key: 'answer',
          label: texts.lastAnswer,
          text: 'wrap',
          inCard: 'whole',
          render: ({ last_attempt: last }) =>
            last === null ? (
              <Text as="span" tone="soft">
                {texts.noneYet}
              </Text>
            ) : (
              <Stack gap={1}>
                <Text as="span" tone={last.error === null ? undefined : 'bad'}>
                  {answerWords(last)}
                </Text>
                {last.answer !== '' && (
                  <Text tone="soft" isSmall>
                    {last.answer.slice(0, 120)}
                  </Text>
                )}
              </Stack>
            ),
        },
        {
          key: 'actions',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: (message) => {
            const { message_id: id, company_name: name, alert_state: alertState, state, type } = message
            const about = type === CONFIRM ? texts.question : name === '' ? texts.digest : name
            return (
              <Row gap={2} justify="right" isOneLine>
                <Button size="s" variant="quiet" aria-label={texts.detailsOf(about)} onClick={() => onShow(id)}>
                  {texts.details}
                </Button>
                {alertState !== null && type !== CONFIRM && (
                  <Button
                    size="s"
                    disabled={isBusy}
                    aria-label={(state === 'waiting' ? texts.sendNowOf : texts.sendAgainOf)(about)}
                    onClick={() => onSendAgain(message)}
                  >
                    {state === 'waiting' ? texts.sendNow : texts.sendAgain}
                  </Button>
                )}
              </Row>
            )
          },
        },
      ]}
    />
  )
}

function State({
  message: { state, alert_state: alertState, next_attempt_at: next, type },
}: {
  readonly message: ListedMessage
}) {
  return (
    <Row gap={2}>
      <Badge tone={TONES[state]}>{state}</Badge>
      {state === 'waiting' && (
        <Text as="span" tone="soft" isSmall>
          {alertState === null
            ? texts.alertRemoved
            : alertState === 'paused' && type !== CONFIRM
              ? texts.untilResumed
              : next === null
                ? null
                : Date.parse(next) <= Date.now()
                  ? texts.beingSent
                  : texts.next(<Time at={next} isAgo />)}
        </Text>
      )}
    </Row>
  )
}
