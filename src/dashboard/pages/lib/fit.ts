import type { CompanyRow } from '../../../../schemas/companies.ts'

const WORDS: Readonly<Record<string, string>> = { good: 'Good', ok: 'OK', poor: 'Poor' }

/** A fit in one word. */
export function fitWord(fit: string): string {
  return WORDS[fit] ?? fit
}

/** "Fits: Software, Germany" */
export function fitReason({ fit, fit_reasons: reasons }: Pick<CompanyRow, 'fit' | 'fit_reasons'>): string {
  if (reasons.length === 0) return fit === 'poor' ? 'It has none of your good signs.' : 'Nothing speaks against it.'
  return `${fit === 'poor' ? 'Does not fit' : 'Fits'}: ${reasons.join(', ')}`
}
