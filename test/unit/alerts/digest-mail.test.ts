import assert from 'node:assert/strict'
import { test } from 'node:test'
import { weekMail } from '../../../src/alerts/digests/mail.ts'
import { weekMessage } from '../../../src/alerts/digests/week.ts'
import type { Digest } from '../../../src/alerts/redis/alert-store.ts'
import { Mailer } from '../../../src/alerts/sending/mail.ts'
import type { HomeWeek } from '../../../src/companies/home.ts'
import { homeCompany, WEEK } from '../../support/home-week.ts'
import { headerOf, startMailServer } from '../../support/mail.ts'

const DIGEST: Digest = {
  ...{ id: 'alert_1', tenantId: 'acme', name: 'Digest for a@b.example', on: 'digest', to: 'email' },
  ...{ target: 'a@b.example', every: 'week', at: '08:00' },
  ...{ created_at: '2026-11-01T00:00:00.000Z', active_since: '2026-11-01T00:00:00.000Z' },
}
const CONTEXT = {
  ...{ tenantId: 'acme', alertId: 'alert_1', alertName: 'Digest', segment: undefined },
  dashboardUrl: 'https://dash.example',
}
const LINK = 'https://dash.example/unsubscribe?tenant=acme&digest=alert_1&key=secret'

const mailOf = (week: HomeWeek, segment?: string) => {
  const digest: Digest = segment === undefined ? DIGEST : { ...DIGEST, segment_id: 'segment_1' }
  return weekMail(weekMessage(digest, week, { ...CONTEXT, segment }, Date.UTC(2026, 10, 23, 8)), LINK)
}

test('a digest says who to look at and why, the numbers against the week before, and how to end it', () => {
  const { subject, lines } = mailOf(WEEK)
  assert.equal(subject, 'acme: 12 companies in 7 days, 3 new')
  assert.deepEqual(lines, [
    '12 companies visited from 16 Nov to 22 Nov 2026.',
    ...['', 'To look at today'],
    ...['', 'Acme is heating up: heat 62, 22 more than 7 days before, read /pricing.'],
    'https://dash.example/t/acme/companies/of?id=acme.example',
    ...['', 'Beta is new: 1 visit, began on /blog.'],
    'https://dash.example/t/acme/companies/of?id=beta.example',
    ...['', 'Gamma came back after 19 days: 4 visits, last on /docs.'],
    'https://dash.example/t/acme/companies/of?id=gamma.example',
    ...['', 'These 7 days against the 7 before', 'Companies: 12 (8 before, +4)', 'New companies: 3 (3 before)'],
    ...['Visits: 40 (41 before, −1)', 'Events: 1,234 (900 before, +334)'],
    ...['', 'All companies of these days: https://dash.example/t/acme/companies?from=2026-11-16&to=2026-11-22'],
    ...['', 'The digest of acme, every Monday at 08:00 UTC.', 'Change it: https://dash.example/t/acme/alerts/digest'],
    `Unsubscribe: ${LINK}`,
  ])
})

test('a digest names the zone of its time of day', () => {
  const { lines } = mailOf({ ...WEEK, zone: 'Europe/Berlin' })
  assert.ok(lines.includes('The digest of acme, every Monday at 08:00 Europe/Berlin.'))
})

test('the list of a segment that a mail links to is the segment', () => {
  const { subject, lines, html } = mailOf(WEEK, 'Keen')
  assert.equal(subject, 'acme, segment Keen: 12 companies in 7 days, 3 new')
  const url = 'https://dash.example/t/acme/companies/segment?id=segment_1'
  assert.ok(lines.includes(`All companies of the segment Keen: ${url}`) && html.includes(`href="${url}"`))
  assert.ok(!html.includes('/companies?'))
})

test('an empty week is said in one sentence', () => {
  const none = { companies: 0, new_companies: 0, visits: 0, events: 0 }
  const { subject, lines, html } = mailOf({ ...WEEK, now: none, rising: [], newcomers: [], returned: [] }, 'Keen')
  assert.equal(subject, 'acme, segment Keen: 0 companies in 7 days')
  assert.equal(lines[0], 'No company of the segment Keen visited from 16 Nov to 22 Nov 2026.')
  assert.ok(!lines.includes('To look at today') && !html.includes('To look at'))
})

test('a name adds neither markup nor lines', () => {
  const evil = '<script>alert(1)</script>\r\n\u2028& "b"'
  const plain = mailOf({ ...WEEK, rising: [], newcomers: [homeCompany('Acme')] }, 'Keen')
  const { subject, lines, html } = mailOf({ ...WEEK, rising: [], newcomers: [homeCompany(evil)] }, evil)
  assert.ok(!html.includes('<script') && html.includes('&#60;script&#62;alert(1)&#60;/script&#62; &#38; &#34;b&#34;'))
  assert.ok([subject, ...lines].every((line) => !/[\r\n\u2028]/.test(line)))
  assert.deepEqual([lines.length, html.split('\n').length], [plain.lines.length, plain.html.split('\n').length])
})

test('a mail has the headers of RFC 8058 when its link is https, else that of RFC 2369 only', async (t) => {
  const smtp = await startMailServer(t)
  const mailer = new Mailer({ url: smtp.url, from: 'a@b.example' })
  const mail = { id: 'msg_1', to: 'c@d.example', subject: 'Digest', text: 'plain', html: '<p>rich</p>' }
  const headers = async (unsubscribeUrl?: string) => {
    await mailer.send({ ...mail, unsubscribeUrl }, new AbortController().signal)
    const sent = smtp.mails.at(-1)!
    assert.ok(sent.includes('Content-Type: multipart/alternative') && sent.includes('<p>rich</p>'))
    return ['List-Unsubscribe', 'List-Unsubscribe-Post'].map((name) => headerOf(sent, name))
  }
  assert.deepEqual(await headers(LINK), [`<${LINK}>`, 'List-Unsubscribe=One-Click'])
  const open = LINK.replace('https', 'http')
  assert.deepEqual(await headers(open), [`<${open}>`, ''])
  assert.deepEqual(await headers(), ['', ''])
})
