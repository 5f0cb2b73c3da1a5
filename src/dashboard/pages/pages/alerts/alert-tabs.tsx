import type { ListedMessage } from '../../../../../schemas/dashboard/alerts.ts'
import { Tabs } from '../../design/tabs.tsx'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.alerts.tabs

interface AlertTabsProps {
  readonly tenant: string
  readonly current: 'alerts' | 'digest' | 'messages'
}

/** The views of alerts. */
export function AlertTabs({ tenant, current }: AlertTabsProps) {
  return (
    <Tabs
      label={texts.views}
      tabs={[
        { href: `/t/${tenant}/alerts`, label: TEXTS.words.fields.alerts, isCurrent: current === 'alerts' },
        { href: `/t/${tenant}/alerts/digest`, label: texts.digest, isCurrent: current === 'digest' },
        { href: messagesPath(tenant), label: texts.messages, isCurrent: current === 'messages' },
      ]}
    />
  )
}

interface MessageFilter {
  /** Id of an alert. */
  readonly alert?: string
  readonly state?: ListedMessage['state']
}

/** URL of the list of messages with filters. */
export function messagesPath(tenant: string, filter: MessageFilter = {}): string {
  const query = new URLSearchParams({ ...filter }).toString()
  return `/t/${tenant}/alerts/messages${query === '' ? '' : `?${query}`}`
}
