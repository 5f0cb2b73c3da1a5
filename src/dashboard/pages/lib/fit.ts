import type { CompanyRow } from '../../../../schemas/companies.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.fit

const WORDS: Readonly<Record<string, string>> = texts.words

/** A fit in one word. */
export function fitWord(fit: string): string {
  return WORDS[fit] ?? fit
}

/** "Fits: Software, Germany" */
export function fitReason({ fit, fit_reasons: reasons }: Pick<CompanyRow, 'fit' | 'fit_reasons'>): string {
  if (reasons.length === 0) return fit === 'poor' ? texts.noGoodSign : texts.nothingAgainst
  return (fit === 'poor' ? texts.doesNotFit : texts.fits)(reasons)
}
