import type { OutgoingCompany } from '../crm.ts'

/** Our properties of companies are in this group. */
export const GROUP = { name: 'ipid', label: 'ipid' } as const

/** The property whose value is the id of a company here. HubSpot accepts each value once. */
export const KEY = 'ipid_company_id'

interface OwnProperty {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly type: 'string' | 'number' | 'datetime'
  readonly fieldType: 'text' | 'textarea' | 'number' | 'date'
  readonly hasUniqueValue?: true
}

const LIST_CHARS = 2_000

/** As `POST /crm/v3/properties/companies/batch/create` takes them, without the group. */
export const PROPERTIES: readonly OwnProperty[] = [
  {
    ...{ name: KEY, label: 'ipid company', type: 'string', fieldType: 'text', hasUniqueValue: true },
    description: 'Id of the company in ipid. Do not change it.',
  },
  {
    ...{ name: 'ipid_last_visit', label: 'Last visit', type: 'datetime', fieldType: 'date' },
    description: 'Time of the last visit to your site (ipid)',
  },
  {
    ...{ name: 'ipid_visits', label: 'Visits', type: 'number', fieldType: 'number' },
    description: 'Visits on all days that ipid keeps',
  },
  {
    ...{ name: 'ipid_heat', label: 'Heat', type: 'number', fieldType: 'number' },
    description: 'Interest of the last 30 days, 0 to 100 (ipid)',
  },
  {
    ...{ name: 'ipid_pages', label: 'Pages', type: 'string', fieldType: 'textarea' },
    description: 'Pages of the last 30 days, those with the most visits first (ipid)',
  },
  {
    ...{ name: 'ipid_segments', label: 'Segments', type: 'string', fieldType: 'text' },
    description: 'Segments of ipid that the company is in',
  },
]

export type PropertyValues = Readonly<Record<string, string>>

/** The values of our properties, without the key. */
export function valuesOf(company: OutgoingCompany): PropertyValues {
  return {
    ipid_last_visit: company.last_visit,
    ipid_visits: String(company.visits),
    ipid_heat: String(company.heat),
    ipid_pages: joined(company.pages, '\n'),
    ipid_segments: joined(company.segments, '; '),
  }
}

/** As many of the texts as fit. */
function joined(texts: readonly string[], mark: string): string {
  let all = ''
  for (const text of texts) {
    const longer = all === '' ? text : `${all}${mark}${text}`
    if (longer.length > LIST_CHARS) break
    all = longer
  }
  return all
}

/** The wanted values that HubSpot does not have. It may write numbers and times differently. */
export function changedValues(wanted: PropertyValues, held: Readonly<Record<string, string | null | undefined>>) {
  const differs = ([name, value]: [string, string]) => comparable(name, value) !== comparable(name, held[name] ?? '')
  return Object.fromEntries(Object.entries(wanted).filter(differs))
}

function comparable(name: string, text: string): string | number {
  const type = PROPERTIES.find((property) => property.name === name)?.type
  const value = text.trim().replaceAll('\r\n', '\n')
  if (value === '' || type === 'string') return value
  if (type === 'number') return Number(value)
  // Milliseconds, or ISO 8601.
  return /^\d+$/.test(value) ? Number(value) : Date.parse(value)
}

/** Lifecycle stages that say what a company is to us. HubSpot sets others itself, for example `lead`. */
const STATUS_OF_STAGE: Readonly<Record<string, string>> = {
  marketingqualifiedlead: 'prospect',
  salesqualifiedlead: 'prospect',
  opportunity: 'open deal',
  customer: 'customer',
  evangelist: 'customer',
}

/** The status for a lifecycle stage; empty: it says nothing. */
export function statusOfStage(stage: string): string {
  return STATUS_OF_STAGE[stage] ?? ''
}
