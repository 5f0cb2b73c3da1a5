import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { receiveInput, send } from '../run/child.ts'
import { openAddressData } from './address-data.ts'
import { BULK, INGEST, LOOKUP } from './schemas.ts'

/*
 * A plain stack, as a good engineer builds it in an afternoon: Fastify with schemas for requests and responses, the country by
 * maxmind, SET NX for dedup, and one pipelined XADD per event. No key, no rate limit, no quota.
 */

const DEDUP_SECONDS = 7 * 86_400

interface Event {
  readonly ip: string
  readonly event_id?: string
  readonly timestamp?: string
  readonly [name: string]: unknown
}

/** @param socket Redis's socket; undefined for lookups only */
const { socket } = await receiveInput<{ socket?: string }>()
const addresses = await openAddressData()
const redis = socket === undefined ? undefined : new Redis({ path: socket })
const app = Fastify({ bodyLimit: 10 * 2 ** 20 })

app.post<{ Body: { events: Event[] } }>('/v1/ingest', { schema: INGEST }, async (request) => {
  const receivedAt = new Date().toISOString()
  const events = request.body.events.map((event) => {
    const country = addresses.countryOf(event.ip)
    return {
      ...event,
      event_id: event.event_id ?? randomUUID(),
      timestamp: event.timestamp ?? receivedAt,
      received_at: receivedAt,
      country_code: country ?? '',
    }
  })
  const claims = redis!.pipeline()
  for (const { event_id: id } of events) claims.set(`seen:${id}`, '1', 'EX', DEDUP_SECONDS, 'NX')
  const claimed = (await claims.exec())!
  const adds = redis!.pipeline()
  for (const [i, event] of events.entries()) {
    if (claimed[i]![1] === 'OK') adds.xadd('events', '*', 'event', JSON.stringify(event))
  }
  await adds.exec()
  return {
    stats: { received: events.length, accepted: events.length },
    results: events.map(({ event_id, ip, country_code }) => {
      return { event_id, ip, status: 'ok', enrichment: { country_code }, quality: 5 }
    }),
  }
})

const lookUp = (ip: string) => ({ ip, status: 'ok', data: { country_code: addresses.countryOf(ip) } })

app.post<{ Body: { ip: string } }>('/v1/lookup', { schema: LOOKUP }, async (request) => lookUp(request.body.ip))

app.post<{ Body: { ips: string[] } }>('/v1/bulk', { schema: BULK }, async (request) => request.body.ips.map(lookUp))

send({ url: await app.listen({ host: '127.0.0.1', port: 0 }) })
