import type { ListedMessage } from '../../../../../schemas/dashboard/alerts.ts'

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
