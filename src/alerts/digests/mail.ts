import { countText, numbered } from '../../run/counted.ts'
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
  const { tenant_id: tenantId, segment, now, companies, url, digest_url } = data
  const of = segment === null ? tenantId : `${tenantId}, segment ${segment}`
  const title = companies.length === 5 ? 'Five to look at today' : 'To look at today'
  const schedule = `${data.every === 'day' ? 'every day' : 'every Monday'} at ${data.at} UTC`
  const news = now.new_companies === 0 ? '' : `, ${countText(now.new_companies)} new`
  const rows = NUMBERS.map(
    ([label, name]) => [label, countText(now[name]), changeText(now[name], data.before[name])] as const,
  )
  return {
    subject: oneLine(`${of}: ${numbered(now.companies, 'company', 'companies')} in 7 days${news}`),
    lines: [
      `${sentence(data)}`,
      ...(companies.length === 0 ? [] : ['', title]),
      ...companies.flatMap(({ name, why, url: at }) => ['', `${oneLine(name)} ${oneLine(why)}.`, at]),
      '',
      ...rows.map(([label, count, change]) => `${label}: ${count} (${change})`),
      ...['', `All companies of these days: ${url}`],
      ...['', `The digest of ${of}, ${schedule}.`, `Change it: ${digest_url}`, `Unsubscribe: ${unsubscribeUrl}`],
    ],
    html: page(
      [
        `<p>${escaped(sentence(data))}</p>`,
        ...(companies.length === 0 ? [] : [`<h2 style="${HEADING}">${title}</h2>`, `<ul style="${LIST}">`]),
        ...companies.map(
          ({ name, why, url: at }) =>
            `<li style="${ITEM}"><a href="${escaped(at)}"><b>${escaped(oneLine(name))}</b></a><br>${escaped(oneLine(why))}</li>`,
        ),
        ...(companies.length === 0 ? [] : ['</ul>']),
        `<h2 style="${HEADING}">In numbers</h2>`,
        '<table role="presentation" cellpadding="0" cellspacing="0" width="100%">',
        ...rows.map(
          ([label, count, change]) =>
            `<tr><td style="${CELL}">${label}</td><td align="right" style="${CELL}"><b>${count}</b></td><td align="right" style="${CELL}${SOFT}">${change}</td></tr>`,
        ),
        '</table>',
        `<p><a href="${escaped(url)}">All companies of these days</a></p>`,
        `<p style="font-size:13px;${SOFT}">The digest of ${escaped(of)}, ${schedule}.<br><a href="${escaped(digest_url)}">Change it</a> or <a href="${escaped(unsubscribeUrl)}">unsubscribe</a>.</p>`,
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

/** "12 companies visited from 16 to 22 Nov 2026." */
function sentence({ now, from, to, segment }: WeekMessage['data']): string {
  const days = `from ${dayText(from)} to ${dayText(to)} ${to.slice(0, 4)}`
  const who = now.companies === 0 ? 'No company' : numbered(now.companies, 'company', 'companies')
  return `${who}${segment === null ? '' : ` of the segment ${segment}`} visited ${days} (UTC).`
}

/** "4 more than in the 7 days before" */
function changeText(now: number, before: number): string {
  if (now === before) return 'as in the 7 days before'
  return `${countText(Math.abs(now - before))} ${now > before ? 'more' : 'fewer'} than in the 7 days before`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** "22 Nov" @param day `YYYY-MM-DD` */
function dayText(day: string): string {
  return `${Number(day.slice(8))} ${MONTHS[Number(day.slice(5, 7)) - 1]}`
}

// Programs for mail leave style sheets out, and choose the colours of a dark scheme themselves when none are given.
const HEADING = 'font-size:17px;margin:28px 0 8px'
const LIST = 'list-style:none;margin:0;padding:0'
const ITEM = 'margin:0 0 14px'
const CELL = 'padding:5px 0;vertical-align:top;'
const SOFT = 'opacity:0.7;'

function page(content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head>
<body style="margin:0;padding:24px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<div style="max-width:560px;margin:0 auto">
${content}
</div></body></html>`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
