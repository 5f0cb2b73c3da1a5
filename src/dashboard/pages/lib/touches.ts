import type { Touch } from '../../../../schemas/companies.ts'
import { capitalised } from './format.ts'

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
