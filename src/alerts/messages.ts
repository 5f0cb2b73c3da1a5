import { JOB_TYPE } from '../../schemas/alert.ts'
import { countText, numbered } from '../run/counted.ts'
import { cutText } from '../run/cut-text.ts'
import { CONFIRM_DAYS, DIGEST_TYPE, TEST_TYPE } from './delivery.ts'

/** A company in a message. Unknown texts are empty. */
export interface ReportedCompany {
  readonly company_id: string
  readonly name: string
  readonly domain: string
  readonly industry: string
  readonly industry_category: string
  readonly country_code: string
  readonly classification: string
  /** RFC 3339, UTC. */
  readonly first_seen: string
  readonly last_seen: string
}

/** The visits of a company when it was reported. Unknown texts are empty. */
export interface CompanyActivity {
  /** On all days that are kept: distinct pairs of address and day of the tenant's zone. */
  readonly visits: number
  /** Interest of the last 30 days, 0 to 100. */
  readonly heat: number
  /** The latest page: its host and path, with `*` for ids. */
  readonly page: string
  /** Origin of the latest visit that has one: the host of another site, and the campaign. */
  readonly referrer: string
  readonly utm_source: string
  readonly utm_campaign: string
  /** Name, or else id, of the source that brought the latest event; empty for an API key. */
  readonly source: string
}

/** An upload that has ended. */
export interface ReportedJob {
  readonly job_id: string
  readonly status: 'completed' | 'failed'
  readonly cancelled: boolean
  readonly label: string | null
  readonly file_name: string | null
  /** Lines. */
  readonly received: number
  readonly stored: number
  readonly rejected: number
  readonly invalid_ip: number
  readonly started_at: string | null
  readonly ended_at: string | null
  /** As people read it. */
  readonly progress_message: string
}

/** How a company differs from its report. */
export interface Correction {
  readonly kind: 'renamed' | 'merged' | 'hidden' | 'shown' | 'gone'
  readonly name_before: string
  /** The company that it was merged into. */
  readonly merged_into?: string
}

/** The content of a message. */
export interface CompanyReport {
  readonly company: ReportedCompany
  /** When it happened, milliseconds. */
  readonly atMs: number
  /** For `company.returned`: the day of the previous visit, `YYYY-MM-DD`. */
  readonly previousDay?: string
  readonly correction?: Correction
}

/** The facts of its alert that a message needs. */
export interface MessageContext {
  readonly tenantId: string
  readonly alertId: string
  readonly alertName: string
  readonly segment: string | undefined
  /** Base of the dashboard's URLs, without a slash at the end. */
  readonly dashboardUrl: string
}

/** `name` is the name of `business_name` in version 0.2. */
type NamedCompany = ReportedCompany & { readonly business_name: string }

export interface MessageData {
  readonly tenant_id: string
  readonly alert: { readonly id: string; readonly name: string }
  readonly company?: NamedCompany
  /** For `job.ended`. */
  readonly job?: ReportedJob
  /** Undefined for a correction, and for a digest. */
  readonly activity?: CompanyActivity
  readonly segment: string | null
  readonly previous_visit?: string
  readonly correction?: Correction
  readonly companies?: readonly DigestLine[]
  /** Of a digest of an alert about jobs. */
  readonly jobs?: readonly DigestLine[]
  readonly total?: number
  readonly digest?: DigestReason
  readonly url: string
}

/** Why there is a digest: the alert sends one a week, or it fired more often than it may send messages in an hour. */
export type DigestReason = 'weekly' | 'limit'

/** A company or a job in a digest. */
export interface DigestLine {
  readonly company_id?: string
  readonly job_id?: string
  readonly name: string
  readonly why: string
  readonly url: string
}

/** The body of a webhook. The other destinations get it in words. */
export interface Message {
  readonly type: string
  /** RFC 3339, UTC. */
  readonly timestamp: string
  readonly data: MessageData
}

/** The alert of a message. */
function ofAlert({ tenantId, alertId, alertName }: MessageContext): Pick<MessageData, 'tenant_id' | 'alert'> {
  return { tenant_id: tenantId, alert: { id: alertId, name: alertName } }
}

/** The message of an occurrence. */
export function messageOf(type: string, report: CompanyReport, context: MessageContext): Message {
  const { company, atMs, previousDay, correction } = report
  return {
    type,
    timestamp: new Date(atMs).toISOString(),
    data: {
      ...ofAlert(context),
      company: withBusinessName(company),
      segment: context.segment ?? null,
      ...(previousDay !== undefined && { previous_visit: previousDay }),
      ...(correction !== undefined && { correction }),
      url: companyUrl(context, company.company_id),
    },
  }
}

/** The message about a job that has ended. */
export function jobMessage(type: string, job: ReportedJob, context: MessageContext, atMs: number): Message {
  return {
    type,
    timestamp: new Date(atMs).toISOString(),
    data: {
      ...ofAlert(context),
      job,
      segment: null,
      url: `${context.dashboardUrl}/t/${context.tenantId}/uploads`,
    },
  }
}

/** The message of a test: an example with the form of a real one. @param on occasion of the alert */
export function testMessage(context: MessageContext, nowMs: number, on?: string): Message {
  const at = new Date(nowMs).toISOString()
  if (on === JOB_TYPE) {
    const job: ReportedJob = {
      ...{ job_id: '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11', status: 'completed', cancelled: false, label: 'crm-export' },
      ...{ file_name: null, received: 1_000, stored: 988, rejected: 12, invalid_ip: 0, started_at: at, ended_at: at },
      progress_message: 'all 1000 events finished, 12 rejected (ip is required)',
    }
    return jobMessage(TEST_TYPE, job, context, nowMs)
  }
  const company: ReportedCompany = {
    company_id: 'example.com',
    name: 'Example',
    domain: 'example.com',
    industry: 'Software',
    industry_category: 'Technology',
    country_code: 'US',
    classification: 'business',
    first_seen: at,
    last_seen: at,
  }
  const activity: CompanyActivity = {
    ...{ visits: 4, heat: 62, page: 'shop.example/pricing', referrer: '' },
    ...{ utm_source: 'newsletter', utm_campaign: 'spring', source: 'Website' },
  }
  return withActivity(messageOf(TEST_TYPE, { company, atMs: nowMs }, context), activity)
}

function withBusinessName<T extends { readonly name: string }>(named: T): T & { readonly business_name: string } {
  return { ...named, business_name: named.name }
}

export function withActivity(message: Message, activity: CompanyActivity): Message {
  return { ...message, data: { ...message.data, activity } }
}

/** @param total number of companies, including those that are not listed */
export function digestMessage(
  {
    lines,
    total,
    reason,
  }: { readonly lines: readonly DigestLine[]; readonly total: number; readonly reason: DigestReason },
  context: MessageContext,
  nowMs: number,
  of: 'companies' | 'jobs' = 'companies',
): Message {
  return {
    type: DIGEST_TYPE,
    timestamp: new Date(nowMs).toISOString(),
    data: {
      ...ofAlert(context),
      segment: context.segment ?? null,
      digest: reason,
      [of]: of === 'companies' ? lines.map(withBusinessName) : lines,
      total,
      url: `${context.dashboardUrl}/t/${context.tenantId}/${of === 'jobs' ? 'uploads' : 'companies'}`,
    },
  }
}

export function digestLine({ data, ...message }: Message): DigestLine {
  const { company, job } = data
  const of = job === undefined ? { company_id: company!.company_id } : { job_id: job.job_id }
  return { ...of, name: nameOf(data), why: whyOf({ ...message, data }), url: data.url }
}

/** The name of the company or the job of a message. */
export function nameOf({ company, job }: MessageData): string {
  if (job === undefined) return company!.name
  return `Upload ${job.label ?? job.file_name ?? job.job_id}`
}

/** The lines of a digest; undefined: the message is about one company or job. */
export function linesIn({ companies, jobs }: MessageData): readonly DigestLine[] | undefined {
  return companies ?? jobs
}

/** The text of the link of a message. */
export function openText(data: MessageData): string {
  if (data.job !== undefined || data.jobs !== undefined) return 'Open uploads'
  return data.companies === undefined ? 'Open company' : 'Open companies'
}

/** The page of a company. */
export function companyUrl({ dashboardUrl, tenantId }: MessageContext, companyId: string): string {
  return `${dashboardUrl}/t/${tenantId}/companies/of?id=${encodeURIComponent(companyId)}`
}

/** The event, as the end of a sentence about the company. */
export function whyOf({ type, data }: Message): string {
  const { segment, previous_visit: previous, correction } = data
  const inSegment = segment === null ? '' : ` (segment ${segment})`
  switch (type) {
    case 'company.first_seen':
      return `was seen for the first time${inSegment}`
    case 'company.returned':
      return `came back: its visit before was on ${previous}${inSegment}`
    case 'segment.entered':
      return `entered the segment ${segment}`
    case 'company.corrected':
      return correctionText(correction!)
    case JOB_TYPE:
      return jobText(data.job!)
    default:
      return 'is an example: this is a test of the alert'
  }
}

function jobText({ status, cancelled, progress_message: message, received, stored, ...job }: ReportedJob): string {
  if (cancelled) return 'was cancelled'
  if (status === 'failed') return `failed: ${message}`
  const rejected = job.rejected + job.invalid_ip
  const counts = `${countText(stored)} of ${numbered(received, 'line')} stored`
  return `is completed: ${counts}${rejected > 0 ? `, ${countText(rejected)} rejected` : ''}`
}

function correctionText({ kind, name_before: before, merged_into: target }: Correction): string {
  switch (kind) {
    case 'renamed':
      return `was corrected: it was called ${before} before`
    case 'merged':
      return `was corrected: it is part of ${target}`
    case 'hidden':
      return 'was corrected: it is hidden, because it is no visitor of interest'
    case 'shown':
      return 'was corrected: it is shown again'
    case 'gone':
      return 'was corrected: its visits belong to another organisation, or to none'
  }
}

/** A message as people read it. */
export interface MessageText {
  readonly subject: string
  /** Lines of plain text. */
  readonly lines: readonly string[]
}

/** A fact that is known about the company of a message, in words. */
export type Fact = readonly [label: string, value: string]

/** The facts below the sentence of a message. */
export function factsIn({ data: { company, activity, job } }: Message): Fact[] {
  if (job !== undefined) return [['Job', job.job_id]]
  const { domain, industry, country_code: country } = company!
  const facts: Fact[] = [['Company', [domain, industry, country].filter((detail) => detail !== '').join(', ')]]
  if (activity !== undefined) {
    const { page, referrer, utm_source: from, utm_campaign: campaign, visits, heat } = activity
    const origin = [from || referrer, campaign && `campaign ${campaign}`].filter((part) => part !== '').join(', ')
    facts.push(['Page', page], ['Came from', origin], ['Visits', countText(visits)], ['Heat', `${heat} of 100`])
  }
  return facts.flatMap(([label, value]): Fact[] => (value === '' ? [] : [[label, oneLine(value)]]))
}

/** For e-mail. */
export function textOf(message: Message): MessageText {
  const { data } = message
  const lines = linesIn(data)
  if (lines !== undefined) return digestText(data, lines)
  const { url, alert } = data
  return {
    subject: oneLine(`${nameOf(data)} ${whyOf(message)}`),
    lines: [
      `${nameOf(data)} ${whyOf(message)}.`,
      ...factsIn(message).map(([label, value]) => `${label}: ${value}`),
      '',
      url,
      '',
      `Alert ${alert.name} of ${data.tenant_id}`,
    ],
  }
}

export function digestSubject({ alert, total = 0, digest, jobs }: MessageData): string {
  const more = jobs === undefined ? numbered(total, 'more company', 'more companies') : numbered(total, 'more upload')
  const what = digest === 'limit' ? more : `${numbered(total, 'company', 'companies')} this week`
  return oneLine(`${alert.name}: ${what}`)
}

function digestText(data: MessageData, lines: readonly DigestLine[]) {
  const { alert, total = 0, url, tenant_id: tenantId } = data
  const rest = total - lines.length
  return {
    subject: digestSubject(data),
    lines: [
      ...lines.flatMap(({ name, why, url: at }) => [`${name} ${why}`, `  ${at}`]),
      ...(rest > 0 ? [`and ${rest} more`] : []),
      '',
      url,
      '',
      `Alert ${alert.name} of ${tenantId}`,
    ],
  }
}

/** In one line of at most 200 characters. */
export function oneLine(text: string): string {
  return cutText(text.replace(/\s+/g, ' '), 200)
}

/** A message that asks to confirm an e-mail address. */
export interface ConfirmMessage {
  readonly type: string
  readonly data: {
    readonly tenant_id: string
    readonly alert: { readonly id: string; readonly name: string }
    readonly address: string
    /** Encrypted. */
    readonly link: string
    /** Present: for the digest. */
    readonly every?: 'day' | 'week'
    /** Present: for files of the export of this name. */
    readonly export?: string
  }
}

/** @param link decrypted */
export function confirmText(
  { tenant_id: tenantId, alert, every, ...of }: ConfirmMessage['data'],
  link: string,
): MessageText {
  const [what, sentence] =
    of.export !== undefined
      ? ['an export', `The files of the export ${oneLine(of.export)} of ${tenantId} are to be sent to this address.`]
      : every !== undefined
        ? [
            'the digest',
            `The digest of ${tenantId} is to be sent to this address, ${every === 'day' ? 'every day' : 'every Monday'}.`,
          ]
        : ['alerts', `The alert ${oneLine(alert.name)} of ${tenantId} is to send its messages to this address.`]
  return {
    subject: `Confirm this address for ${what} of ipid`,
    lines: [
      sentence,
      ...['', `Confirm within ${CONFIRM_DAYS} days to receive them:`, link, ''],
      'Ignore this mail if you do not expect it: nothing else is sent to you then.',
    ],
  }
}
