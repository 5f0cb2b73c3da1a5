import type { DeliveryAttempt, ListedAlert } from '../../../../../schemas/dashboard/alerts.ts'

type When = Pick<ListedAlert, 'on' | 'after_days' | 'segment'>

/** When an alert fires, as a sentence without its full stop. */
export function whenWords({ on, after_days: days, segment }: When): string {
  const name = segment === null ? '' : (segment.name ?? 'a segment that was removed')
  const inSegment = segment === null ? '' : ` in ${name}`
  switch (on) {
    case 'company.first_seen':
      return `A company${inSegment} is seen for the first time`
    case 'company.returned':
      return `A company${inSegment} returns after ${days} days`
    case 'segment.entered':
      return `A company enters ${name}`
    case 'company.corrected':
      return segment === null ? "A company's data is corrected" : `The data of a company${inSegment} are corrected`
  }
}

const TYPES: Readonly<Record<string, string>> = {
  'company.first_seen': 'seen for the first time',
  'company.returned': 'returned',
  'segment.entered': 'entered a segment',
  'company.corrected': 'corrected',
  'alert.test': 'test',
  'alert.digest': 'several companies',
  'digest.week': 'digest of the week',
  'export.file': 'file of an export',
  'alert.confirm': 'asks to confirm the address',
}

/** The report of a message. */
export function typeWords(type: string): string {
  return TYPES[type] ?? type
}

export const KIND_WORDS = { webhook: 'Webhook', slack: 'Slack', teams: 'Teams', email: 'E-mail' } as const

/** The answer of a receiver, in a few words. */
export function answerWords({ error, status }: Pick<DeliveryAttempt, 'error' | 'status'>): string {
  if (error !== null) return error
  return status === null ? 'accepted' : `answered ${status}`
}
