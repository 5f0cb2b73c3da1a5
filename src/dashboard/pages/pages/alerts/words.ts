import type { DeliveryAttempt, ListedAlert } from '../../../../../schemas/dashboard/alerts.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.alerts.words

type When = Pick<ListedAlert, 'on' | 'after_days' | 'segment'>

/** When an alert fires, as a sentence without its full stop. */
export function whenWords({ on, after_days: days, segment }: When): string {
  const name = segment === null ? undefined : (segment.name ?? texts.goneSegment)
  switch (on) {
    case 'company.first_seen':
      return texts.firstSeen(name)
    case 'company.returned':
      return texts.returned(days, name)
    case 'segment.entered':
      return texts.entered(name ?? '')
    case 'company.corrected':
      return name === undefined ? texts.corrected : texts.correctedIn(name)
    case 'job.ended':
      return texts.jobEnded
  }
}

const TYPES: Readonly<Record<string, string>> = {
  'company.first_seen': texts.types.firstSeen,
  'company.returned': texts.types.returned,
  'segment.entered': texts.types.entered,
  'company.corrected': texts.types.corrected,
  'job.ended': texts.types.jobEnded,
  'alert.test': texts.types.test,
  'alert.digest': texts.types.several,
  'digest.week': texts.types.week,
  'export.file': texts.types.file,
  'alert.confirm': texts.types.confirm,
}

/** The report of a message. */
export function typeWords(type: string): string {
  return TYPES[type] ?? type
}

export const KIND_WORDS = {
  webhook: texts.kinds.webhook,
  slack: texts.kinds.slack,
  teams: texts.kinds.teams,
  email: texts.kinds.email,
} as const

/** The answer of a receiver, in a few words. */
export function answerWords({ error, status }: Pick<DeliveryAttempt, 'error' | 'status'>): string {
  if (error !== null) return error
  return status === null ? texts.accepted : texts.answered(status)
}
