import { NOISE } from '../../schemas/classification.ts'
import type { TenantRules } from '../../schemas/tenant-rules.ts'
import {
  UNKNOWN_LIMITS,
  type UnknownNetwork,
  type UnknownNetworksAnswer,
  type UnknownQuery,
} from '../../schemas/unknown-networks.ts'
import type { Clock } from '../run/clock.ts'
import { addDays, dayIn } from '../run/time-zone.ts'
import { quote } from '../stores/clickhouse/quote.ts'
import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { accountlessVisits, eventsWithin, readBasis, visitOf, WITHIN } from './days.ts'

/*
 * Visits without a company, by network. An event whose sender names an account is not one of them. The key of `events` finds them, so a
 * query reads hardly any other rows.
 */

/** The reason is a matter of the stored values: private persons have no name, and other names without a company are doubtful. */
const REASON = `multiIf(
    classification IN (${[...NOISE].map(quote).join()}), 'kept',
    business_name != '', 'doubtful',
    asn > 0, 'unnamed',
    'unknown')`

const networksSql = (reason: UnknownQuery['reason'], zone: string) => `
  SELECT
    asn, reason, as_name, name, country_code, visits, events, last_seen,
    sum(visits) OVER () AS all_visits,
    count() OVER () AS total
  FROM
  (
    SELECT
      asn,
      ${REASON} AS reason,
      any(events.as_name) AS as_name,
      any(business_name) AS name,
      if(reason = 'unknown', '', topK(1)(events.country_code)[1]) AS country_code,
      uniqExact(${visitOf(zone)}) AS visits,
      count() AS events,
      max(timestamp) AS last_seen
    FROM events
    WHERE tenant_id = {tenant:String} AND account_id = ''${eventsWithin(WITHIN, zone)}
    GROUP BY asn, reason, if(asn = 0, business_name, '')
  )
  ${reason === undefined ? '' : 'WHERE reason = {reason:String}'}
  ORDER BY visits DESC, events DESC, asn, name
  LIMIT {limit:UInt32}`

type FoundNetwork = Omit<UnknownNetwork, 'rule'> & { readonly all_visits: number; readonly total: number }

/** @param zone of its days. Rejects as `ClickHouseCompanies`. */
export async function findUnknownNetworks(
  reader: QuestionReader,
  { clock, zone }: { readonly clock: Clock; readonly zone: string },
  { id: tenant, rules = [] }: TenantRules & { readonly id: string },
  { days = UNKNOWN_LIMITS.days, reason, limit = UNKNOWN_LIMITS.rows }: UnknownQuery,
): Promise<UnknownNetworksAnswer> {
  const span = lastDays(clock, zone, days)
  const parameters = { tenant, ...span, limit, ...(reason !== undefined && { reason }) }
  const found = await reader.rows<FoundNetwork>(networksSql(reason, zone), parameters)
  const ruleOf = rulesBySystem(rules)
  return {
    ...span,
    visits: found[0]?.all_visits ?? 0,
    total: found[0]?.total ?? 0,
    networks: found.map(({ all_visits: _, total: __, ...network }) => ({
      ...network,
      rule: ruleOf.get(network.asn) ?? null,
    })),
  }
}

/** The number of visits without a company. Closed days are read from their stored numbers. Rejects as `ClickHouseCompanies`. */
export async function countUnknownVisits(
  reader: QuestionReader,
  { clock, zone }: { readonly clock: Clock; readonly zone: string },
  tenant: string,
  days: number,
) {
  const basis = await readBasis(reader, tenant, 'days', zone)
  const sql = `SELECT sum(visits) AS visits FROM (${accountlessVisits(basis, WITHIN)})`
  const [found] = await reader.rows<{ readonly visits: number }>(sql, { tenant, ...lastDays(clock, zone, days) })
  return found?.visits ?? 0
}

function lastDays(clock: Clock, zone: string, days: number) {
  const to = dayIn(zone, clock.now())
  return { from: addDays(to, 1 - days), to }
}

const GIVES_COMPANY = /^(?:is|never-noise) AS(\d+)(?: |$)/

/** Rules that make a company of an AS. */
function rulesBySystem(rules: readonly string[]): ReadonlyMap<number, string> {
  return new Map(
    rules.flatMap((rule) => {
      const asn = GIVES_COMPANY.exec(rule)?.[1]
      return asn === undefined ? [] : [[Number(asn), rule] as const]
    }),
  )
}
