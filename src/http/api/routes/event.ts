import { type Static, Type } from 'typebox'
import { EventFate, EventQuery } from '../../../../schemas/api/receipt.ts'
import type { EventReceipts } from '../../../operations/receipts/receipts.ts'
import { whyUnknown } from '../../../operations/receipts/unknown.ts'
import { parseTimestamp } from '../../../pipeline/event/timestamp.ts'
import { compileValidator } from '../../../pipeline/event/validator.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Exchange } from '../../engine/exchange.ts'
import { HttpError } from '../../engine/http-error.ts'
import type { HttpResponse } from '../../engine/response.ts'
import type { Operation } from '../../route/operation.ts'
import { pathParameter } from '../../route/path-parameter.ts'
import { parseQuery, single } from '../../route/query.ts'
import type { Route } from '../../route/route.ts'
import { assertSchema } from '../../route/schema.ts'

/** `GET /v1/events/{event_id}`: the status and history of an event. */
export function eventRoute(receipts: EventReceipts): Route {
  const validate = compileValidator(EventQuery)
  return {
    method: 'GET',
    path: '/v1/events/:event_id',
    access: 'key',
    operation,
    async handle({ request }: Exchange, { tenant }: Caller): Promise<HttpResponse> {
      const receivedAt = single(parseQuery(request.query), 'received_at')
      const asked: Partial<Static<typeof EventQuery>> = {
        event_id: pathParameter(request, 'event_id'),
        ...(receivedAt !== undefined && { received_at: receivedAt }),
      }
      assertSchema(validate, asked)
      const found = await receipts.find({
        tenantId: tenant.id,
        eventId: asked.event_id!,
        archived: tenant.archive,
        aroundMs: receivedAt === undefined ? undefined : parseTimestamp(receivedAt),
      })
      if ('status' in found) return { status: 200, body: JSON.stringify(found) }
      throw new HttpError('unknown_event', whyUnknown(found, tenant.archive))
    },
  }
}

const operation: Operation = {
  id: 'event',
  summary: 'The status of an event',
  description:
    'An extension. Lists the known times that the event was received: when, by which request or batch job, and ' +
    'whether it is stored, in progress, a dead letter, a duplicate, filtered or invalid. Repeats, and events that are not ' +
    'stored, are known only for tenants with an archive.',
  parameters: [
    {
      name: 'event_id',
      in: 'path',
      required: true,
      description: 'The id that was sent or answered, percent-encoded',
      schema: Type.String({ minLength: 1, maxLength: 256 }),
    },
    {
      name: 'received_at',
      in: 'query',
      required: false,
      description: 'Approximate time when it was sent: the archive is searched around it',
      schema: Type.String({ format: 'rfc3339' }),
    },
  ],
  responses: {
    200: {
      description: 'The known receipts of the event',
      schema: EventFate,
      example: {
        event_id: '5d0a7c1e',
        status: 'stored',
        receipts: [
          {
            status: 'stored',
            received_at: '2026-11-22T08:00:00.000Z',
            lane: 'live',
            request_id: '1m80vm0rd00011pyq5',
            classification: 'business',
          },
        ],
      },
    },
  },
  errors: [404, 422],
}
