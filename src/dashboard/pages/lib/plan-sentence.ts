import type { PlanUsage } from '../../../../schemas/dashboard/overview.ts'
import { number } from './format.ts'

/** The share of a limit from which pages warn. */
export const NEAR_LIMIT = 0.85

/** A sentence for each limit of the plan that is near or passed. */
export function planSentences({ lookups, accounts }: Pick<PlanUsage, 'lookups' | 'accounts'>): string[] {
  const sentences: string[] = []
  const isNear = ({ used, limit }: { readonly used: number; readonly limit: number }) =>
    used > 0 && used >= NEAR_LIMIT * limit
  if (isNear(lookups)) {
    const refused = lookups.used >= lookups.limit ? '; more are refused until the next day' : ''
    sentences.push(`${number(lookups.used)} of ${number(lookups.limit)} lookups of today (UTC) are used${refused}.`)
  }
  if (isNear(accounts) || accounts.passed_at !== null) {
    const accepted = accounts.passed_at === null ? '' : '; events are still accepted'
    sentences.push(
      `This month (UTC) has ${number(accounts.used)} companies, and the plan ${number(accounts.limit)}${accepted}.`,
    )
  }
  return sentences
}
