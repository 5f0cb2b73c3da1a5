import { Ellipsis, List, Pause, Play, Send, Trash2 } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { ListedAlert } from '../../../../../schemas/dashboard/alerts.ts'
import { CompanyLink } from '../../components/company-link.tsx'
import { Badge } from '../../design/badge.tsx'
import { IconButton } from '../../design/button.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { sentence } from '../../design/notice.tsx'
import { Menu } from '../../design/popover.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { useMay } from '../../lib/may.ts'
import { TEXTS } from '../../texts/texts.ts'
import { messagesPath } from './alert-tabs.tsx'
import { answerWords, KIND_WORDS, whenWords } from './words.ts'

const texts = TEXTS.alerts.table

export type AlertAction = 'test' | 'ask-again' | 'pause' | 'resume' | 'remove'

interface AlertListProps {
  readonly tenant: string
  readonly alerts: readonly ListedAlert[]
  readonly onAct: (action: AlertAction, alert: ListedAlert) => void
}

/** The alerts of a tenant: their events, their destinations, and their state. */
export function AlertList({ tenant, alerts, onAct }: AlertListProps) {
  const ids = alerts.flatMap(({ last_fired: fired }) => (fired === null ? [] : [fired.company_id]))
  return (
    <Table
      label={TEXTS.words.fields.alerts}
      rows={alerts}
      keyOf={({ alert_id: id }) => id}
      columns={[
        {
          key: 'name',
          label: TEXTS.words.fields.alert,
          text: 'wrap',
          render: (alert) => (
            <Stack gap={1}>
              <Text as="span" isStrong>
                {alert.name}
              </Text>
              <Text tone="soft" isSmall>
                {whenWords(alert)}
              </Text>
            </Stack>
          ),
        },
        {
          key: 'to',
          label: texts.reportsTo,
          text: 'wrap',
          width: 220,
          inCard: 'whole',
          render: ({ to, target, digest }) => (
            <Stack gap={1}>
              <span>{target}</span>
              <Text tone="soft" isSmall>
                {digest === null ? KIND_WORDS[to] : texts.everyMonday(KIND_WORDS[to])}
              </Text>
            </Stack>
          ),
        },
        {
          key: 'state',
          label: TEXTS.words.fields.state,
          text: 'wrap',
          inCard: 'whole',
          render: (alert) => <State tenant={tenant} alert={alert} />,
        },
        {
          key: 'fired',
          label: texts.lastFired,
          text: 'wrap',
          render: ({ last_fired: fired }) =>
            fired === null ? (
              <Text as="span" tone="soft">
                {texts.notYet}
              </Text>
            ) : (
              <Dated at={fired.at}>
                {fired.company_id === '' ? (
                  <span>{fired.company_name}</span>
                ) : (
                  <CompanyLink tenant={tenant} id={fired.company_id} among={ids}>
                    {fired.company_name}
                  </CompanyLink>
                )}
              </Dated>
            ),
        },
        {
          key: 'answer',
          label: texts.lastAnswer,
          text: 'wrap',
          render: ({ last_attempt: last }) =>
            last === null ? (
              <Text as="span" tone="soft">
                {texts.noneYet}
              </Text>
            ) : (
              <Dated at={last.at}>
                <Text as="span" tone={last.error === null ? 'good' : 'bad'}>
                  {answerWords(last)}
                </Text>
              </Dated>
            ),
        },
        {
          key: 'actions',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: (alert) => <Actions tenant={tenant} alert={alert} onAct={onAct} />,
        },
      ]}
    />
  )
}

/** A value and its age. */
function Dated({ at, children }: { readonly at: string; readonly children: ComponentChildren }) {
  return (
    <>
      {children}{' '}
      <Text as="span" tone="soft" isSmall>
        <Time at={at} isAgo />
      </Text>
    </>
  )
}

function State({ tenant, alert }: { readonly tenant: string; readonly alert: ListedAlert }) {
  const { paused, unconfirmed, waiting, alert_id: id } = alert
  return (
    <Stack gap={1}>
      <Row gap={2}>
        {unconfirmed !== null && <Badge tone="warn">{texts.unconfirmed}</Badge>}
        {paused === null && unconfirmed === null && <Badge tone="good">{texts.on}</Badge>}
        {paused !== null && paused.by !== 'unconfirmed' && (
          <Badge tone={paused.by === 'person' ? 'neutral' : 'bad'}>{PAUSED[paused.by]}</Badge>
        )}
      </Row>
      {unconfirmed !== null && (
        <Text tone="soft" isSmall>
          {texts.sendsNothing(unconfirmed)}
        </Text>
      )}
      {paused !== null && paused.by !== 'unconfirmed' && (
        <Text tone="soft" isSmall>
          {paused.reason !== '' && `${sentence(paused.reason)} `}
          {texts.since(<Time at={paused.at} />)}
        </Text>
      )}
      {waiting > 0 && (
        <Text isSmall>
          <Link href={messagesPath(tenant, { alert: id, state: 'waiting' })}>{texts.waiting(waiting)}</Link>
        </Text>
      )}
    </Stack>
  )
}

const PAUSED = {
  person: texts.paused.person,
  failures: texts.paused.failures,
  limit: texts.paused.limit,
  restore: texts.paused.restore,
} as const

function Actions({ tenant, alert, onAct }: Pick<AlertListProps, 'tenant' | 'onAct'> & { readonly alert: ListedAlert }) {
  const label = texts.actionsFor(alert.name)
  if (!useMay('member')) return null
  return (
    <Menu
      label={label}
      align="end"
      trigger={(props) => <IconButton icon={Ellipsis} label={label} {...props} />}
      entries={[
        alert.unconfirmed === null
          ? { label: texts.test, icon: Send, onSelect: () => onAct('test', alert) }
          : { label: texts.ask, icon: Send, onSelect: () => onAct('ask-again', alert) },
        { label: texts.show, icon: List, href: messagesPath(tenant, { alert: alert.alert_id }) },
        ...(alert.unconfirmed !== null
          ? []
          : alert.paused === null
            ? [{ label: texts.pause, icon: Pause, onSelect: () => onAct('pause', alert) }]
            : [{ label: texts.resume, icon: Play, onSelect: () => onAct('resume', alert) }]),
        'line',
        { label: TEXTS.words.buttons.remove, icon: Trash2, isDanger: true, onSelect: () => onAct('remove', alert) },
      ]}
    />
  )
}
