import { Type } from 'typebox'
import type { ALERT_TYPES } from '../alert.ts'

/*
 * The bodies of webhooks (src/alerts/README.md). Unknown texts are empty. Members may be added.
 */

const time = (description: string) => Type.String({ format: 'rfc3339', description })

/** The earlier name, as answered for one version. */
const earlierName = Type.String({ deprecated: true, description: 'The name of `business_name` in version 0.2' })

const ReportedCompany = Type.Object(
  {
    company_id: Type.String({ description: 'Domain, or key of the name' }),
    business_name: Type.String({
      description: 'The name that people gave it, else its business name, full name or id',
    }),
    name: earlierName,
    domain: Type.String(),
    industry: Type.String(),
    industry_category: Type.String(),
    country_code: Type.String({ description: 'ISO 3166-1 alpha-2' }),
    classification: Type.String(),
    first_seen: time('Its first event'),
    last_seen: time('Its last event'),
  },
  { title: 'ReportedCompany' },
)

const Activity = Type.Object(
  {
    visits: Type.Integer({ description: 'Of all time' }),
    heat: Type.Integer({ description: 'Interest of the last 30 days, 0 to 100' }),
    page: Type.String({ description: 'The latest page: host and path, with `*` for ids' }),
    referrer: Type.String({ description: 'Host of another site that led to the latest visit that has one' }),
    utm_source: Type.String(),
    utm_campaign: Type.String(),
    source: Type.String({ description: 'Name, or else id, of the source of the latest event; empty for an API key' }),
  },
  { title: 'Activity' },
)

const AlertName = Type.Object({ id: Type.String(), name: Type.String() }, { title: 'AlertName' })

const Segment = Type.Union([Type.String(), Type.Null()], { description: 'The segment of the alert; null: it has none' })

const Correction = Type.Object(
  {
    kind: Type.Enum(['renamed', 'merged', 'hidden', 'shown', 'gone']),
    name_before: Type.String(),
    merged_into: Type.Optional(Type.String({ description: 'The company that it is part of now' })),
  },
  { title: 'Correction' },
)

function companyMessage(type: string, title: string, more: Record<string, ReturnType<typeof Type.Unsafe>> = {}) {
  const data = {
    tenant_id: Type.String(),
    alert: AlertName,
    company: ReportedCompany,
    activity: Type.Optional(Activity),
    segment: Segment,
    ...more,
    url: Type.String({ description: 'Its page in the dashboard' }),
  }
  return Type.Object(
    { type: Type.Literal(type), timestamp: time('When it happened'), data: Type.Object(data) },
    { title },
  )
}

const nullable = (of: ReturnType<typeof Type.String>, description: string) =>
  Type.Union([of, Type.Null()], { description })

const ReportedJob = Type.Object(
  {
    job_id: Type.String(),
    status: Type.Enum(['completed', 'failed']),
    cancelled: Type.Boolean({ description: 'The tenant cancelled it; its status is then `failed`' }),
    label: nullable(Type.String(), 'The `label` of its upload'),
    file_name: nullable(Type.String(), 'Of an upload of the dashboard'),
    received: Type.Integer({ description: 'Lines' }),
    stored: Type.Integer({ description: 'Events stored, without repeats' }),
    rejected: Type.Integer({ description: 'Lines that are not events' }),
    invalid_ip: Type.Integer(),
    started_at: nullable(Type.String({ format: 'rfc3339' }), 'When the first lines entered the pipeline'),
    ended_at: nullable(Type.String({ format: 'rfc3339' }), 'When it ended'),
    progress_message: Type.String({ description: 'As people read it' }),
  },
  { title: 'ReportedJob' },
)

const ofJob = {
  ...{ tenant_id: Type.String(), alert: AlertName, job: ReportedJob, segment: Type.Null() },
  url: Type.String({ description: 'The uploads in the dashboard' }),
}

const jobEnded = Type.Object(
  { type: Type.Literal('job.ended'), timestamp: time('When it ended'), data: Type.Object(ofJob) },
  { title: 'JobEnded' },
)

const JobDigestLine = Type.Object(
  {
    job_id: Type.String(),
    name: Type.String({ description: 'Its label, file or id' }),
    why: Type.String({ description: 'How it ended, in words' }),
    url: Type.String(),
  },
  { title: 'JobDigestLine' },
)

const DigestLine = Type.Object(
  {
    company_id: Type.String(),
    business_name: Type.String(),
    name: earlierName,
    why: Type.String({ description: 'The occasion in words' }),
    url: Type.String(),
  },
  { title: 'DigestLine' },
)

const digest = Type.Object(
  {
    type: Type.Literal('alert.digest'),
    timestamp: time('When it was made'),
    data: Type.Object({
      tenant_id: Type.String(),
      alert: AlertName,
      segment: Segment,
      digest: Type.Enum(['weekly', 'limit'], {
        description:
          '`weekly`: the alert sends one a week. `limit`: it fired more often than it may send messages in an hour',
      }),
      companies: Type.Optional(Type.Array(DigestLine, { description: 'At most 500 of them' })),
      jobs: Type.Optional(
        Type.Array(JobDigestLine, { description: 'In place of `companies`, of an alert about uploads' }),
      ),
      total: Type.Integer({ description: 'Number of all companies or uploads' }),
      url: Type.String({ description: 'The list of companies, or the uploads, in the dashboard' }),
    }),
  },
  { title: 'AlertDigest' },
)

/** As the messages of its alert. */
const alertTest = Type.Object(
  {
    type: Type.Literal('alert.test'),
    timestamp: time('When it was made'),
    data: Type.Object({
      ...{ tenant_id: Type.String(), alert: AlertName },
      company: Type.Optional(ReportedCompany),
      activity: Type.Optional(Activity),
      job: Type.Optional(ReportedJob),
      segment: Segment,
      url: Type.String({ description: 'A page in the dashboard' }),
    }),
  },
  { title: 'AlertTest' },
)

/** The body of each type. */
export const WEBHOOK_MESSAGES = {
  'company.first_seen': companyMessage('company.first_seen', 'CompanyFirstSeen'),
  'company.returned': companyMessage('company.returned', 'CompanyReturned', {
    previous_visit: Type.Unsafe(Type.String({ description: 'Day of the visit before, YYYY-MM-DD' })),
  }),
  'segment.entered': companyMessage('segment.entered', 'SegmentEntered'),
  'company.corrected': companyMessage('company.corrected', 'CompanyCorrected', { correction: Type.Unsafe(Correction) }),
  'job.ended': jobEnded,
  'alert.digest': digest,
  'alert.test': alertTest,
} as const satisfies Record<(typeof ALERT_TYPES)[number], unknown> & Record<string, unknown>

export type WebhookType = keyof typeof WEBHOOK_MESSAGES
