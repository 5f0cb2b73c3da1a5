import { companyIdOf, nameKey } from '../../enrichment/rules/company-id.ts'
import { ownLabel } from '../../enrichment/rules/domain.ts'

/** The company of an event, as stored or as data say today. Empty texts are unknown. */
export interface Attributed {
  readonly companyId: string
  readonly domain: string
}

/** Whether an event with a known domain was attributed to it, to another company, or to none. */
export type Verdict = 'right' | 'other' | 'none'

/**
 * Compares registrable domains: `acme.de` is not `acme.com`. A company without a domain is compared by its name: `acme` and
 * `Acme Inc.` are `acme.com`, and `acme-energy` is `acmeenergy.com`.
 * @param known of `events.known_domain`
 */
export function verdictOf({ companyId, domain }: Attributed, known: string): Verdict {
  if (companyId === '') return 'none'
  const own = domain !== '' ? domain : companyId.includes('.') ? companyId : undefined
  const isSame =
    own === undefined
      ? withoutHyphens(nameKey(companyId)) === withoutHyphens(ownLabel(known) ?? known)
      : companyIdOf({ name: undefined, domain: own }) === known
  return isSame ? 'right' : 'other'
}

function withoutHyphens(text: string): string {
  return text.replaceAll('-', '')
}
