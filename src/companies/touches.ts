import type { Channel, Touch } from '../../schemas/companies.ts'
import { CHANNEL_LIMITS, type ChannelsAnswer, type ChannelsQuery } from '../../schemas/dashboard/channels.ts'
import { inUtc, type ZoneOf } from '../run/time-zone.ts'
import { quote } from '../stores/clickhouse/quote.ts'
import type { QuestionReader } from '../stores/clickhouse/reader.ts'
import { type CompanyCondition, type Corrected, isVisible, knownCompanies, targetOf } from './corrected.ts'
import { companyDays, type ReadBasis, readBasis, WITHIN } from './days.ts'

/*
 * Where companies came from. A touch is what an event says of that: source, medium and campaign (`events.touch`). The first touch of a
 * company is that of its earliest event with a URL. The last one is the latest that is not direct, or direct if all are, as in the last
 * non-direct click of Google Analytics: a visit by a bookmark does not take the place of the advertisement that made the company known.
 */

/** An event that came directly. */
const DIRECT = "'\\x1f\\x1f'"

/** Names and domains, without subdomains (`m.`), and without a country's ending. */
const SEARCH_SITES = [
  ...['google', 'bing', 'yahoo', 'duckduckgo', 'baidu', 'yandex', 'ecosia', 'qwant', 'startpage', 'brave', 'kagi'],
  ...['naver', 'daum', 'seznam', 'sogou', 'ask', 'aol', 'mojeek', 'swisscows'],
]
/** Sites of videos are among them. */
const SOCIAL_SITES = [
  ...['facebook', 'instagram', 'linkedin', 'twitter', 'threads', 'reddit', 'pinterest', 'tiktok', 'youtube', 'vimeo'],
  ...['xing', 'bsky', 'mastodon', 'quora', 'snapchat', 'whatsapp', 'telegram', 'discord', 'tumblr', 'weibo', 'vk'],
]
/** Hosts that the names above do not find. */
const SOCIAL_HOSTS = [
  'x',
  'x.com',
  't.co',
  'fb',
  'fb.me',
  'lnkd.in',
  'youtu.be',
  'news.ycombinator.com',
  'com.linkedin.android',
]

const oneOf = (names: readonly string[]) => names.join('|')
const SEARCH = `^(?:(?:[a-z]{1,3}|search)\\.)*(?:${oneOf(SEARCH_SITES)})(?:\\.(?:com?|net|org))?(?:\\.[a-z]{2,6})?$|^com\\.google\\.android\\.googlequicksearchbox$`
const SOCIAL = `^(?:[a-z]{1,3}\\.|mobile\\.|out\\.|away\\.|old\\.)*(?:${oneOf(SOCIAL_SITES)})(?:\\.(?:com?|net|org))?(?:\\.[a-z]{2,6})?$`

const EMAIL = ['email', 'e-mail', 'e_mail', 'e mail']
const SOCIAL_MEDIA = ['social', 'social-network', 'social-media', 'sm', 'social network', 'social media']
const quoted = (texts: readonly string[]) => texts.map(quote).join()

/**
 * SQL of the channel of a touch: the default channel group of Google Analytics 4 (https://support.google.com/analytics/answer/9756891), in
 * its order. Shopping and video are not told apart from search and social; audio, messages and everything else with a campaign are `other
 * campaign`. A site as source without a medium is a referral.
 * @param source expression of a text in lower case, as `medium` and `campaign`
 */
function channelSql(source: string, medium: string, campaign: string): string {
  const isSearch = `match(${source}, ${quote(SEARCH)})`
  const isSocial = `(match(${source}, ${quote(SOCIAL)}) OR ${source} IN (${quoted(SOCIAL_HOSTS)}))`
  const isPaid = `match(${medium}, ${quote('^(.*cp.*|ppc|retargeting|paid.*)$')})`
  const is = (...media: readonly string[]) => `${medium} IN (${quoted(media)})`
  const rules: readonly (readonly [condition: string, channel: Channel])[] = [
    [`${source} = '' AND ${medium} = '' AND ${campaign} = ''`, 'direct'],
    [`${isSearch} AND ${isPaid}`, 'paid search'],
    [`${isSocial} AND ${isPaid}`, 'paid social'],
    [is('display', 'banner', 'expandable', 'interstitial', 'cpm'), 'display'],
    [isPaid, 'other paid'],
    [`${isSocial} OR ${is(...SOCIAL_MEDIA)}`, 'organic social'],
    [`${isSearch} OR ${is('organic')}`, 'organic search'],
    [`${is('referral', 'app', 'link')} OR (${medium} = '' AND position(${source}, '.') > 0)`, 'referral'],
    [`${is(...EMAIL)} OR ${source} IN (${quoted(EMAIL)})`, 'email'],
    [is('affiliate', 'affiliates'), 'affiliates'],
  ]
  const others: Channel = 'other campaign'
  return `multiIf(${rules.map(([condition, channel]) => `${condition}, ${quote(channel)}, `).join('')}${quote(others)})`
}

// As in `company_touches`, character by character.
const FIRST = 'minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1))'
const LAST = 'maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1))'

/** The first or the last touch of a company. */
export type TouchEnd = 'first' | 'last'

/**
 * SQL of a row for each company with a touch: its number as `company`, and `END_at`, `END_channel`, `END_source`, `END_medium` and
 * `END_campaign` of its first and its last one. A touch more than a day ahead of its receipt does not count. Reads the projection
 * `company_touches`.
 */
export function touchesSql(basis: Corrected, of: CompanyCondition = knownCompanies(basis)): string {
  const columnsOf = (end: TouchEnd) => {
    const [source, medium, campaign] = [1, 2, 3].map((i) => `${end}_parts[${i}]`) as [string, string, string]
    return `${end}_at, ${channelSql(source, medium, campaign)} AS ${end}_channel, ${source} AS ${end}_source, ${medium} AS ${end}_medium, ${campaign} AS ${end}_campaign`
  }
  return `
  SELECT target AS company, ${columnsOf('first')}, ${columnsOf('last')}
  FROM
  (
    SELECT
      ${targetOf(basis)} AS target,
      min(since) AS first_at,
      splitByChar('\\x1f', argMin(touched, (since, touched = ${DIRECT}, touched))) AS first_parts,
      argMax(until, (touched != ${DIRECT}, until)) AS last_at,
      splitByChar('\\x1f', argMax(touched, (touched != ${DIRECT}, until, touched))) AS last_parts
    FROM
    (
      SELECT company, touch AS touched, assumeNotNull(${FIRST}) AS since, assumeNotNull(${LAST}) AS until
      FROM events
      WHERE tenant_id = {tenant:String} AND ${of.all('company')} AND touch != ''
      GROUP BY company, touch
      HAVING ${FIRST} IS NOT NULL
    )
    GROUP BY target
  )`
}

/** A row of `touchesSql`. */
export type TouchRow = Readonly<Record<`${TouchEnd}_${keyof Touch}`, string>>

/** A touch of a row. @param row undefined: the company has no touch */
export function touchOf(row: TouchRow | undefined, end: TouchEnd): Touch | null {
  return row === undefined
    ? null
    : {
        at: row[`${end}_at`],
        channel: row[`${end}_channel`] as Channel,
        source: row[`${end}_source`],
        medium: row[`${end}_medium`],
        campaign: row[`${end}_campaign`],
      }
}

const channelsSql = (basis: ReadBasis, end: TouchEnd) => `
  SELECT kind, value, count() AS companies
  FROM
  (
    SELECT seen.company AS company, touches.${end}_channel AS channel, touches.${end}_campaign AS campaign, touches.${end}_source AS source
    FROM (SELECT DISTINCT company FROM (${companyDays(basis, { within: WITHIN })}) WHERE ${isVisible(basis, 'company')}) AS seen
    LEFT JOIN (${touchesSql(basis)}) AS touches USING company
  )
  ARRAY JOIN ['all', 'channels', 'campaigns', 'sources'] AS kind, ['', channel, campaign, source] AS value
  WHERE value != '' OR kind IN ('all', 'channels')
  GROUP BY kind, value
  ORDER BY companies DESC, value
  LIMIT ${CHANNEL_LIMITS.values} BY kind`

/** Reads where companies came from. Every query is limited to days. Callers must check dates. Rejects as `ClickHouseCompanies`. */
export class ClickHouseChannels {
  readonly #reader: QuestionReader
  readonly #zoneOf: ZoneOf

  /** @param zoneOf the zone of a tenant's days; default: UTC */
  constructor(reader: QuestionReader, zoneOf: ZoneOf = inUtc) {
    this.#reader = reader
    this.#zoneOf = zoneOf
  }

  /** The companies with a visit on these days, by their first or last touch. */
  async channels(tenant: string, { from, to, touch = 'first' }: ChannelsQuery): Promise<ChannelsAnswer> {
    const basis = await readBasis(this.#reader, tenant, 'days', await this.#zoneOf(tenant))
    const rows = await this.#reader.rows<{ kind: string; value: string; companies: number }>(
      channelsSql(basis, touch),
      {
        ...{ tenant, from, to },
      },
    )
    const of = (wanted: string) => rows.filter(({ kind }) => kind === wanted)
    return {
      companies: of('all')[0]?.companies ?? 0,
      channels: of('channels').map(({ value, companies }) => ({ channel: value as Channel | '', companies })),
      campaigns: of('campaigns').map(({ value: campaign, companies }) => ({ campaign, companies })),
      sources: of('sources').map(({ value: source, companies }) => ({ source, companies })),
    }
  }
}
