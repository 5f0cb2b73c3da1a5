import { Tabs } from '../../design/tabs.tsx'
import { messagesPath } from './messages-path.ts'

interface AlertTabsProps {
  readonly tenant: string
  readonly current: 'alerts' | 'messages'
}

/** The two views of alerts. */
export function AlertTabs({ tenant, current }: AlertTabsProps) {
  return (
    <Tabs
      label="Views of alerts"
      tabs={[
        { href: `/t/${tenant}/alerts`, label: 'Alerts', isCurrent: current === 'alerts' },
        { href: messagesPath(tenant), label: 'Messages', isCurrent: current === 'messages' },
      ]}
    />
  )
}
