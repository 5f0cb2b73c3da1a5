import type { CompanyReason } from '../../../../schemas/dashboard/company.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.why

/** Attributes that name a company, the plainest first. */
const NAMING = ['business_name', 'domain', 'as_name']

/** "Its most frequent address, 192.0.2.1, is in 192.0.2.0/24, which the data set “starter” gives to Apple." */
export function whySentence({ ip, is_same, values }: CompanyReason, name: string): string {
  if (!is_same) return texts.belonged(ip, name)
  const found = NAMING.map((attribute) => values.find((value) => value.attribute === attribute)).find(
    (value) => value !== undefined,
  )
  if (found === undefined) return texts.belongs(ip, name)
  const { network, provider, value } = found
  if (network === null) return texts.belongsBy(ip, value, provider)
  return texts.isIn(ip, network, provider, value)
}
