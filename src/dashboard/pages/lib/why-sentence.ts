import type { CompanyReason } from '../../../../schemas/dashboard/company.ts'

/** Attributes that name a company, the plainest first. */
const NAMING = ['business_name', 'domain', 'as_name']

/** "Its most frequent address, 192.0.2.1, is in 192.0.2.0/24, which the data set “starter” gives to Apple." */
export function whySentence({ ip, is_same, values }: CompanyReason, name: string): string {
  const start = `Its most frequent address, ${ip},`
  if (!is_same) return `${start} belonged to ${name} when its events arrived, but today’s data no longer says so.`
  const found = NAMING.map((attribute) => values.find((value) => value.attribute === attribute)).find(
    (value) => value !== undefined,
  )
  if (found === undefined) return `${start} belongs to ${name} by today’s data.`
  const { network, provider, value } = found
  if (network === null) return `${start} belongs to ${value}, says the data set “${provider}”.`
  return `${start} is in ${network}, which the data set “${provider}” gives to ${value}.`
}
