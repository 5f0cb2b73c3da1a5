import type { TSchema } from 'typebox'
import { WEBHOOK_MESSAGES, type WebhookType } from '../../../schemas/api/webhook.ts'

/** The description of a webhook in the OpenAPI document. */
export interface Webhook {
  readonly type: WebhookType
  readonly summary: string
  readonly description: string
  readonly schema: TSchema
  readonly example: unknown
}

const NAME = { name: 'Acme', business_name: 'Acme' }
const URL_OF = 'https://ipid.example/t/demo/companies/of?id=acme.example'
const ALERT = { tenant_id: 'demo', alert: { id: 'alert_0a1b2c3d', name: 'Hot' } }

const COMPANY = {
  ...{ company_id: 'acme.example', ...NAME, domain: 'acme.example' },
  ...{ industry: 'Software', industry_category: 'Technology', country_code: 'DE', classification: 'business' },
  ...{ first_seen: '2026-11-01T08:00:00.000Z', last_seen: '2026-11-22T09:30:00.000Z' },
}
const ACTIVITY = {
  ...{ visits: 4, heat: 62, page: 'shop.example/pricing', referrer: '' },
  ...{ utm_source: 'newsletter', utm_campaign: 'spring', source: 'Website' },
}
const OF_COMPANY = { ...ALERT, company: COMPANY, activity: ACTIVITY, segment: null, url: URL_OF }

const TEXTS: Readonly<Record<WebhookType, readonly [summary: string, description: string, data: object]>> = {
  'company.first_seen': ['A company was seen for the first time', 'By no event of the tenant before.', OF_COMPANY],
  'company.returned': [
    'A company came back',
    'After the number of days without a visit that the alert sets.',
    { ...OF_COMPANY, previous_visit: '2026-10-01' },
  ],
  'segment.entered': [
    'A company entered a segment',
    'It matches the filter of the segment, and did not before.',
    { ...OF_COMPANY, segment: 'Keen' },
  ],
  'company.corrected': [
    'A reported company was corrected',
    'People renamed, merged, hid or showed it, or newer data name another one.',
    {
      ...{ ...ALERT, company: COMPANY, segment: null, url: URL_OF },
      correction: { kind: 'renamed', name_before: 'Acme Anvils' },
    },
  ],
  'job.ended': [
    'An upload ended',
    'It completed, failed or was cancelled. Not for jobs of sources and bulk lookups.',
    {
      ...ALERT,
      job: {
        ...{
          job_id: '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11',
          status: 'completed',
          cancelled: false,
          label: 'crm-export',
        },
        ...{ file_name: null, received: 1_000, stored: 988, rejected: 12, invalid_ip: 0 },
        ...{ started_at: '2026-11-22T09:29:00.000Z', ended_at: '2026-11-22T09:30:00.000Z' },
        progress_message: 'all 1000 events finished, 12 rejected (ip is required)',
      },
      ...{ segment: null, url: 'https://ipid.example/t/demo/uploads' },
    },
  ],
  'alert.digest': [
    'Several companies or uploads in one message',
    'The reports of a week, or those beyond the hourly limit of the alert.',
    {
      ...{ ...ALERT, segment: 'Keen', digest: 'limit' },
      companies: [{ company_id: 'acme.example', ...NAME, why: 'entered the segment Keen', url: URL_OF }],
      ...{ total: 1, url: 'https://ipid.example/t/demo/companies' },
    },
  ],
  'alert.test': ['A test of an alert', 'An example with all members, which a person asked for.', OF_COMPANY],
}

/** The messages of alerts to webhooks. */
export const WEBHOOKS: readonly Webhook[] = (Object.keys(WEBHOOK_MESSAGES) as WebhookType[]).map((type) => {
  const [summary, description, data] = TEXTS[type]
  const example = { type, timestamp: '2026-11-22T09:30:00.000Z', data }
  return { type, summary, description, schema: WEBHOOK_MESSAGES[type], example }
})
