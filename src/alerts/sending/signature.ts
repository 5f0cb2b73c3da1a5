import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** A new secret of a webhook: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/**
 * The headers of Standard Webhooks that prove sender, time and content of a message.
 * @param id the same for each attempt
 * @param atMs when this attempt is sent
 */
export function signedHeaders(secret: string, id: string, atMs: number, body: string): Record<string, string> {
  const seconds = String(Math.floor(atMs / 1_000))
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` }
}
