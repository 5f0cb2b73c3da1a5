import type { Touch } from '../../../../schemas/companies.ts'
import type { ActivityAnswer } from '../../../../schemas/dashboard/activity.ts'
import { capitalised } from './format.ts'

/** The first and the last touch of a company; null: it has none. */
export type Touches = Pick<ActivityAnswer, 'first_touch' | 'last_touch'>

interface TouchesAnswer {
  readonly value: Touches | undefined
  readonly error: unknown
}

/** The touches that its page shows: undefined while they load, none after an error. */
export function touchesOf({ value, error }: TouchesAnswer): Touches | undefined {
  return value ?? (error === undefined ? undefined : { first_touch: null, last_touch: null })
}

/** "Paid search, spring", "Referral, partner.example", "Direct" */
export function touchText({ channel, source, campaign }: Touch): string {
  return [capitalised(channel), campaign || (channel === 'referral' ? source : '')]
    .filter((part) => part !== '')
    .join(', ')
}

/** "google / cpc", as reports of campaigns name it, or the host of a referrer; empty for a direct touch. */
export function sourceText({ channel, source, medium }: Touch): string {
  return channel === 'direct'
    ? ''
    : [source, medium === 'referral' ? '' : medium].filter((part) => part !== '').join(' / ')
}
