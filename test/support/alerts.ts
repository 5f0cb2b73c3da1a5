import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { AlertRecord } from '../../schemas/alert.ts'
import type { Delivery } from '../../src/alerts/delivery.ts'
import { type CompanyActivity, type Message, messageOf, withActivity } from '../../src/alerts/messages.ts'
import { type Alert, RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import type { Occurrence } from '../../src/alerts/redis/occurrence-store.ts'
import type { AlertSecret } from '../../src/alerts/sending/channels.ts'
import { newWebhookSecret } from '../../src/alerts/sending/signature.ts'
import { SecretBox } from '../../src/secrets/secret-box.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'

/** A message that a receiver got. */
export interface ReceivedMessage {
  readonly id: string
  readonly body: string
  readonly path: string
}

/** A receiver of webhooks on loopback. It verifies each message with the package `standardwebhooks`. */
export class Receiver {
  url = ''
  readonly received: ReceivedMessage[] = []
  /** Why messages did not verify. */
  readonly invalid: string[] = []
  /** The secret to verify with; undefined: does not verify. */
  key: string | undefined
  answer: (request: IncomingMessage, response: ServerResponse, received: ReceivedMessage) => void = (_, response) =>
    void response.end('ok')

  static async start(t: TestContext): Promise<Receiver> {
    const receiver = new Receiver()
    const server = createServer((request, response) => receiver.#take(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return receiver
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    try {
      for await (const piece of request) pieces.push(piece as Buffer)
    } catch {
      return
    }
    const body = Buffer.concat(pieces).toString()
    try {
      if (this.key !== undefined) new Webhook(this.key).verify(body, request.headers as Record<string, string>)
    } catch (error) {
      this.invalid.push(String(error))
    }
    const received = { id: String(request.headers['webhook-id']), body, path: request.url! }
    this.received.push(received)
    this.answer(request, response, received)
  }
}

/** For channels without exports. */
export const noFiles = { get: async () => undefined }

export const testSecrets = new SecretBox({ dataDir: '/nonexistent', secretsKey: 'ab'.repeat(32) })

/** Writes an alert. */
export async function addAlert(
  client: RedisClient,
  tenantId: string,
  record: Partial<AlertRecord> & { readonly url?: string },
  key = newWebhookSecret(),
): Promise<Alert & { readonly key: string }> {
  const id = `alert_${randomUUID().slice(0, 8)}`
  const at = new Date(record.created_at ?? Date.now()).toISOString()
  const { url = '', ...rest } = record
  const secret: AlertSecret = { url, ...((rest.to ?? 'webhook') === 'webhook' && { key }) }
  const alert = await new RedisAlerts(client).create({
    ...{
      id,
      tenantId,
      name: id,
      on: 'company.first_seen',
      to: 'webhook',
      target: url,
      created_at: at,
      active_since: at,
    },
    ...(rest.to !== 'email' && { secret: testSecrets.seal(JSON.stringify(secret), id) }),
    ...rest,
  })
  return { ...alert, key }
}

export function messageAbout(alert: Alert, companyId: string): Message {
  const at = new Date().toISOString()
  const company = {
    ...{ company_id: companyId, name: `${companyId} & <Co>`, domain: companyId, industry: 'Software' },
    ...{ industry_category: '', country_code: 'DE', classification: 'business', first_seen: at, last_seen: at },
  }
  const context = { tenantId: alert.tenantId, alertId: alert.id, alertName: alert.name, segment: undefined }
  const message = messageOf(
    alert.on,
    { company, atMs: Date.now() },
    { ...context, dashboardUrl: 'http://dash.example' },
  )
  return withActivity(message, ACTIVITY)
}

export const ACTIVITY: CompanyActivity = {
  ...{ visits: 3, heat: 41, page: 'shop.example/our_pricing', referrer: 'search.example' },
  ...{ utm_source: '', utm_campaign: '', source: 'Website' },
}

export function occurrenceOf(alert: Alert, companyId: string): Occurrence {
  const facts = { name: companyId, domain: companyId, given: '', state: 'present', seen: '2026-11-27T00:00:00.000Z' }
  return { key: companyId, stamp: '', message: messageAbout(alert, companyId), facts }
}

/** Errors of a message's attempts. */
export function errorsOf({ attempts }: Pick<Delivery, 'attempts'>): (string | undefined)[] {
  return attempts.map(({ error }) => error)
}
