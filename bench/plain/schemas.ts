/* Schemas of requests and responses, which Fastify compiles. */

const text = { type: 'string', maxLength: 256 }

const event = {
  type: 'object',
  required: ['ip'],
  properties: {
    ip: { type: 'string' },
    event_id: text,
    timestamp: { type: 'string', format: 'date-time' },
    event_type: text,
    session_id: { type: 'integer' },
    platform: text,
    properties: { type: 'object' },
    account_id: text,
  },
}

const found = { type: 'object', properties: { country_code: { type: 'string' } } }

const looked = {
  type: 'object',
  properties: { ip: { type: 'string' }, status: { type: 'string' }, data: found },
}

export const INGEST = {
  body: {
    type: 'object',
    required: ['events'],
    properties: { events: { type: 'array', minItems: 1, maxItems: 1_000, items: event } },
  },
  response: {
    200: {
      type: 'object',
      properties: {
        stats: { type: 'object', properties: { received: { type: 'integer' }, accepted: { type: 'integer' } } },
        results: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              event_id: { type: 'string' },
              ip: { type: 'string' },
              status: { type: 'string' },
              enrichment: found,
              quality: { type: 'integer' },
            },
          },
        },
      },
    },
  },
}

export const LOOKUP = {
  body: { type: 'object', required: ['ip'], properties: { ip: { type: 'string' } } },
  response: { 200: looked },
}

export const BULK = {
  body: {
    type: 'object',
    required: ['ips'],
    properties: { ips: { type: 'array', minItems: 1, maxItems: 512, items: { type: 'string' } } },
  },
  response: { 200: { type: 'array', items: looked } },
}
