import { HOME, type WeekSums } from '../../../schemas/dashboard/home.ts'
import { countText, numbered } from '../../run/counted.ts'
import { escaped } from '../../run/escaped.ts'
import { UTC } from '../../run/time-zone.ts'
import { oneLine } from '../messages.ts'
import type { WeekMessage } from './week.ts'

/** A digest as people read it. */
export interface WeekMail {
  readonly subject: string
  readonly lines: readonly string[]
  readonly html: string
}

/** @param unsubscribeUrl ends the subscription */
export function weekMail({ data }: WeekMessage, unsubscribeUrl: string): WeekMail {
  const { tenant_id: tenantId, now, before, url, digest_url: digestUrl } = data
  const segment = data.segment === null ? undefined : oneLine(data.segment)
  const of = segment === undefined ? tenantId : `${tenantId}, segment ${segment}`
  const companies = data.companies.map((one) => ({ ...one, name: oneLine(one.name), why: oneLine(one.why) }))
  const title = companies.length === HOME.toLookAt ? 'Five to look at today' : 'To look at today'
  const all = segment === undefined ? 'All companies of these days' : `All companies of the segment ${segment}`
  const schedule = `${data.every === 'day' ? 'every day' : 'every Monday'} at ${data.at} ${data.time_zone ?? UTC}`
  const news = now.new_companies === 0 ? '' : `, ${countText(now.new_companies)} new`
  const sentence = sentenceOf(data, segment)
  return {
    subject: oneLine(`${of}: ${numbered(now.companies, 'company', 'companies')} in 7 days${news}`),
    lines: [
      sentence,
      ...(companies.length === 0 ? [] : ['', title]),
      ...companies.flatMap(({ name, why, url: at }) => ['', `${name} ${why}.`, at]),
      ...['', 'These 7 days against the 7 before'],
      ...NUMBERS.map(
        ([label, name]) =>
          `${label}: ${countText(now[name])} (${countText(before[name])} before${changeOf(data, name, ', ')})`,
      ),
      ...['', `${all}: ${url}`],
      ...['', `The digest of ${of}, ${schedule}.`, `Change it: ${digestUrl}`, `Unsubscribe: ${unsubscribeUrl}`],
    ],
    html: page(
      [
        `<p style="${PARAGRAPH}">${escaped(sentence)}</p>`,
        ...(companies.length === 0 ? [] : [`<h2 style="${HEADING}">${title}</h2>`]),
        ...companies.map(
          ({ name, why, url: at }) =>
            `<p style="${PARAGRAPH}"><a href="${escaped(at)}"><b>${escaped(name)}</b></a><br>${escaped(why)}</p>`,
        ),
        `<h2 style="${HEADING}">In numbers</h2>`,
        '<table cellpadding="0" cellspacing="0" width="100%" style="border-collapse:collapse">',
        `<tr><td></td><th scope="col" style="${HEAD}">Last 7 days</th><th scope="col" style="${HEAD}">7 before</th><th scope="col" style="${HEAD}">Change</th></tr>`,
        ...NUMBERS.map(
          ([label, name]) =>
            `<tr><th scope="row" style="${LABEL}">${label}</th><td style="${CELL}"><b>${countText(now[name])}</b></td><td style="${CELL}">${countText(before[name])}</td><td style="${CELL}">${changeOf(data, name) || '–'}</td></tr>`,
        ),
        '</table>',
        `<p style="${PARAGRAPH};margin-top:24px"><a href="${escaped(url)}">${escaped(all)}</a></p>`,
        `<p style="${PARAGRAPH};margin-top:32px;font-size:13px;opacity:0.75">The digest of ${escaped(of)}, ${schedule}.<br><a href="${escaped(digestUrl)}">Change it</a> or <a href="${escaped(unsubscribeUrl)}">unsubscribe</a>.</p>`,
      ].join('\n'),
    ),
  }
}

const NUMBERS = [
  ['Companies', 'companies'],
  ['New companies', 'new_companies'],
  ['Visits', 'visits'],
  ['Events', 'events'],
] as const

/** "12 companies visited from 16 to 22 Nov 2026." @param segment in one line */
function sentenceOf({ now, from, to }: WeekMessage['data'], segment: string | undefined): string {
  const days = `from ${dayText(from)} to ${dayText(to)} ${to.slice(0, 4)}`
  const count = now.companies === 0 ? 'No company' : numbered(now.companies, 'company', 'companies')
  return `${count}${segment === undefined ? '' : ` of the segment ${segment}`} visited ${days}.`
}

/** "+4", after a text; empty: no change. */
function changeOf({ now, before }: WeekMessage['data'], name: keyof WeekSums, after = ''): string {
  const change = now[name] - before[name]
  return change === 0 ? '' : `${after}${change > 0 ? '+' : '−'}${countText(Math.abs(change))}`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** "22 Nov" @param day `YYYY-MM-DD` */
function dayText(day: string): string {
  return `${Number(day.slice(8))} ${MONTHS[Number(day.slice(5, 7)) - 1]}`
}

// Programs for mail leave style sheets out, and choose the colours of a dark scheme themselves when none are given.
const PARAGRAPH = 'margin:0 0 14px'
const HEADING = 'font-size:17px;margin:28px 0 10px'
const CELL = 'padding:6px 0 6px 12px;text-align:right;vertical-align:top;border-top:1px solid rgba(128,128,128,0.35)'
const LABEL = `${CELL};padding-left:0;text-align:left;font-weight:normal`
const HEAD = 'padding:0 0 6px 12px;text-align:right;font-weight:normal;font-size:13px;opacity:0.75'

function page(content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head>
<body style="margin:0;padding:24px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<div style="max-width:560px;margin:0 auto">
${content}
</div></body></html>`
}
