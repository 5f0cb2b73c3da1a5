import {
  UNKNOWN_LIMITS,
  UNKNOWN_REASONS,
  UnknownNetworksAnswer,
  UnknownQuery,
} from '../../../../schemas/unknown-networks.ts'
import type { ClickHouseCompanies } from '../../../companies/companies.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Exchange } from '../../engine/exchange.ts'
import type { HttpResponse } from '../../engine/response.ts'
import type { Operation } from '../../route/operation.ts'
import { parseQuery, single, wholeOf } from '../../route/query.ts'
import type { Route } from '../../route/route.ts'
import { schemaError } from '../../route/schema.ts'

/** `GET /v1/unknown-networks`: the networks of visits without a company. */
export function unknownNetworksRoute(companies: Pick<ClickHouseCompanies, 'unknownNetworks'>): Route {
  return {
    method: 'GET',
    path: '/v1/unknown-networks',
    access: 'key',
    operation,
    async handle({ request }: Exchange, { tenant }: Caller): Promise<HttpResponse> {
      const query = parseQuery(request.query)
      const { days, daysMax, rows, rowsMax } = UNKNOWN_LIMITS
      const found = await companies.unknownNetworks(tenant, {
        days: wholeOf('days', single(query, 'days'), days, daysMax),
        limit: wholeOf('limit', single(query, 'limit'), rows, rowsMax),
        reason: reasonOf(single(query, 'reason')),
      })
      return { status: 200, body: JSON.stringify(found) }
    },
  }
}

function reasonOf(text: string | undefined): UnknownQuery['reason'] {
  const reason = UNKNOWN_REASONS.find((name) => name === text)
  if (text === undefined || reason !== undefined) return reason
  throw schemaError([{ path: 'reason', message: `must be ${UNKNOWN_REASONS.join(', ')}` }])
}

const operation: Operation = {
  id: 'unknownNetworks',
  summary: 'The networks of visits without a company',
  description:
    'An extension. Events of these networks are stored without an account, and their senders named none. A rule `is` of the tenant makes ' +
    'a network a company; stored events follow when they are judged again.',
  parameters: Object.entries(UnknownQuery.properties).map(([name, schema]) => ({
    name,
    in: 'query' as const,
    required: false,
    description: (schema as { description?: string }).description ?? '',
    schema,
  })),
  responses: {
    200: {
      description: 'The networks with the most visits',
      schema: UnknownNetworksAnswer,
      example: {
        ...{ from: '2026-10-24', to: '2026-11-22', visits: 12, total: 1 },
        networks: [
          {
            ...{ asn: 64_500, as_name: 'Example Systems Ltd', name: 'Example Systems', country_code: 'DE' },
            ...{ reason: 'doubtful', visits: 12, events: 40, last_seen: '2026-11-22T09:30:00.000Z', rule: null },
          },
        ],
      },
    },
  },
  errors: [422],
}
