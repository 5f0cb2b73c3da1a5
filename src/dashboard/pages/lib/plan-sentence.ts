import type { PlanUsage } from '../../../../schemas/dashboard/overview.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.plan

/** The share of a limit from which pages warn. */
export const NEAR_LIMIT = 0.85

/** A sentence for each limit of the plan that is near or passed. */
export function planSentences({ lookups, accounts }: Pick<PlanUsage, 'lookups' | 'accounts'>): string[] {
  const sentences: string[] = []
  const isNear = ({ used, limit }: { readonly used: number; readonly limit: number }) =>
    used > 0 && used >= NEAR_LIMIT * limit
  if (isNear(lookups)) {
    sentences.push(texts.lookups(lookups.used, lookups.limit))
  }
  if (isNear(accounts) || accounts.passed_at !== null) {
    sentences.push(texts.companies(accounts.used, accounts.limit, accounts.passed_at !== null))
  }
  return sentences
}
