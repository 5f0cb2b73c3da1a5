import type { TenantRules } from '../../../../schemas/tenant-rules.ts'
import type { Config } from '../../../config/config.ts'
import { madeData } from '../../../enrichment/commands/default-data.ts'
import { tenantEnricher } from '../../../enrichment/judge.ts'
import { TodaysData } from '../../../enrichment/todays-data.ts'
import type { Address } from '../../../pipeline/event/address.ts'

/** Status of an event with this address, as in answers of `/v1/ingest`. */
interface Checked {
  readonly ip: string
  readonly status: 'ok' | 'filtered'
  readonly classification: string | null
  /** The rule that decides; null: none. */
  readonly rule: string | null
}

/** Enriches addresses with the data files of `config`, without reverse DNS, and applies the rules of a tenant. */
export async function checkAddresses(
  config: Config,
  tenant: TenantRules,
  addresses: readonly Address[],
): Promise<Checked[]> {
  const data = await TodaysData.open(await madeData(config))
  const organisationOf = (domain: string) => data.organisationOf(domain)
  const enricher = tenantEnricher({ enrich: (address) => data.enrich(address, ''), organisationOf }, tenant)
  return addresses.map((address) => {
    const { noise, classification = null, rule = null } = enricher.enrich(address)
    return { ip: address.text, status: noise ? 'filtered' : 'ok', classification, rule }
  })
}
