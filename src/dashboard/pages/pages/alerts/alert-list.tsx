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
import { counted } from '../../lib/format.ts'
import { useMay } from '../../lib/may.ts'
import { messagesPath } from './alert-tabs.tsx'
import { answerWords, KIND_WORDS, whenWords } from './words.ts'

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
      label="Alerts"
      rows={alerts}
      keyOf={({ alert_id: id }) => id}
      columns={[
        {
          key: 'name',
          label: 'Alert',
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
          label: 'Reports to',
          text: 'wrap',
          width: 220,
          inCard: 'whole',
          render: ({ to, target, digest }) => (
            <Stack gap={1}>
              <span>{target}</span>
              <Text tone="soft" isSmall>
                {KIND_WORDS[to]}
                {digest !== null && ', every Monday'}
              </Text>
            </Stack>
          ),
        },
        {
          key: 'state',
          label: 'State',
          text: 'wrap',
          inCard: 'whole',
          render: (alert) => <State tenant={tenant} alert={alert} />,
        },
        {
          key: 'fired',
          label: 'Last fired',
          text: 'wrap',
          render: ({ last_fired: fired }) =>
            fired === null ? (
              <Text as="span" tone="soft">
                not yet
              </Text>
            ) : (
              <Dated at={fired.at}>
                <CompanyLink tenant={tenant} id={fired.company_id} among={ids}>
                  {fired.company_name}
                </CompanyLink>
              </Dated>
            ),
        },
        {
          key: 'answer',
          label: 'Last answer',
          text: 'wrap',
          render: ({ last_attempt: last }) =>
            last === null ? (
              <Text as="span" tone="soft">
                none yet
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
          label: 'Actions',
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
        {unconfirmed !== null && <Badge tone="warn">not confirmed</Badge>}
        {paused === null && unconfirmed === null && <Badge tone="good">on</Badge>}
        {paused !== null && paused.by !== 'unconfirmed' && (
          <Badge tone={paused.by === 'person' ? 'neutral' : 'bad'}>{PAUSED[paused.by]}</Badge>
        )}
      </Row>
      {unconfirmed !== null && (
        <Text tone="soft" isSmall>
          Sends nothing until {unconfirmed} opens the link in our mail and confirms.
        </Text>
      )}
      {paused !== null && paused.by !== 'unconfirmed' && (
        <Text tone="soft" isSmall>
          {paused.reason !== '' && `${sentence(paused.reason)} `}
          Since <Time at={paused.at} />
        </Text>
      )}
      {waiting > 0 && (
        <Text isSmall>
          <Link href={messagesPath(tenant, { alert: id, state: 'waiting' })}>
            {counted(waiting, 'message')} waiting
          </Link>
        </Text>
      )}
    </Stack>
  )
}

const PAUSED = {
  person: 'paused by a person',
  failures: 'paused after failures',
  limit: 'paused: a limit was reached',
  restore: 'paused by a restore',
} as const

function Actions({ tenant, alert, onAct }: Pick<AlertListProps, 'tenant' | 'onAct'> & { readonly alert: ListedAlert }) {
  const label = `Actions for ${alert.name}`
  if (!useMay('member')) return null
  return (
    <Menu
      label={label}
      align="end"
      trigger={(props) => <IconButton icon={Ellipsis} label={label} {...props} />}
      entries={[
        alert.unconfirmed === null
          ? { label: 'Send a test message', icon: Send, onSelect: () => onAct('test', alert) }
          : { label: 'Send a link to confirm', icon: Send, onSelect: () => onAct('ask-again', alert) },
        { label: 'Show its messages', icon: List, href: messagesPath(tenant, { alert: alert.alert_id }) },
        ...(alert.unconfirmed !== null
          ? []
          : alert.paused === null
            ? [{ label: 'Pause', icon: Pause, onSelect: () => onAct('pause', alert) }]
            : [{ label: 'Resume', icon: Play, onSelect: () => onAct('resume', alert) }]),
        'line',
        { label: 'Remove', icon: Trash2, isDanger: true, onSelect: () => onAct('remove', alert) },
      ]}
    />
  )
}
