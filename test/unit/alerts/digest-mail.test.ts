import assert from 'node:assert/strict'
import { test } from 'node:test'
import { weekMail } from '../../../src/alerts/digests/mail.ts'
import { weekMessage } from '../../../src/alerts/digests/week.ts'
import type { Digest } from '../../../src/alerts/redis/alert-store.ts'
import { Mailer } from '../../../src/alerts/sending/mail.ts'
import type { HomeWeek } from '../../../src/companies/home.ts'
import { companiesToLookAt } from '../../../src/companies/to-look-at.ts'
import { homeCompany, risingCompany, WEEK } from '../../support/digests.ts'
import { startMailServer } from '../../support/mail.ts'

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

const mailOf = (week: HomeWeek, segment?: string) =>
  weekMail(weekMessage(DIGEST, week, { ...CONTEXT, segment }, Date.UTC(2026, 10, 23, 8)), LINK)

test('a digest says who to look at and why, the numbers against the week before, and how to end it', () => {
  const { subject, lines } = mailOf(WEEK)
  assert.equal(subject, 'acme: 12 companies in 7 days, 3 new')
  assert.deepEqual(lines, [
    '12 companies visited from 16 Nov to 22 Nov 2026 (UTC).',
    ...['', 'To look at today'],
    ...['', 'Acme is heating up: heat 62, 22 more than 7 days before, read /pricing.'],
    'https://dash.example/t/acme/companies/of?id=acme.example',
    ...['', 'Beta is new: 1 visit, began on /blog.'],
    'https://dash.example/t/acme/companies/of?id=beta.example',
    ...['', 'Gamma came back after 19 days: 4 visits, last on /docs.'],
    'https://dash.example/t/acme/companies/of?id=gamma.example',
    ...['', 'Companies: 12 (4 more than in the 7 days before)', 'New companies: 3 (as in the 7 days before)'],
    ...['Visits: 40 (1 fewer than in the 7 days before)', 'Events: 1,234 (334 more than in the 7 days before)'],
    ...['', 'All companies of these days: https://dash.example/t/acme/companies?from=2026-11-16&to=2026-11-22'],
    ...['', 'The digest of acme, every Monday at 08:00 UTC.', 'Change it: https://dash.example/t/acme/alerts/digest'],
    `Unsubscribe: ${LINK}`,
  ])
})

test('an empty week is said in one sentence', () => {
  const none = { companies: 0, new_companies: 0, visits: 0, events: 0 }
  const { subject, lines, html } = mailOf({ ...WEEK, now: none, rising: [], newcomers: [], returned: [] }, 'Keen')
  assert.equal(subject, 'acme, segment Keen: 0 companies in 7 days')
  assert.equal(lines[0], 'No company of the segment Keen visited from 16 Nov to 22 Nov 2026 (UTC).')
  assert.ok(!lines.includes('To look at today') && !html.includes('To look at'))
})

test('a name adds neither markup nor lines', () => {
  const evil = '<script>alert(1)</script>\n& "b"'
  const { subject, lines, html } = mailOf({ ...WEEK, rising: [], newcomers: [homeCompany(evil)] }, evil)
  assert.ok(!html.includes('<script') && html.includes('&#60;script&#62;alert(1)&#60;/script&#62; &#38; &#34;b&#34;'))
  assert.ok([subject, ...lines].every((line) => !line.includes('\n')))
})

test('the companies to look at are five, of each kind in turn', () => {
  const names = (prefix: string) => Array.from({ length: 6 }, (_, i) => `${prefix}${i}`)
  const week = {
    rising: names('r').map((name) => risingCompany(name, 60, 40)),
    newcomers: names('n').map((name) => homeCompany(name)),
    returned: names('b').map((name) => homeCompany(name)),
  }
  const namesOf = (part: Partial<typeof week>) =>
    companiesToLookAt({ rising: [], newcomers: [], returned: [], ...part }).map(({ company: { name } }) => name)
  assert.deepEqual(namesOf(week), ['r0', 'n0', 'b0', 'r1', 'n1'])
  assert.deepEqual(namesOf({ newcomers: week.newcomers }), ['n0', 'n1', 'n2', 'n3', 'n4'])
  assert.deepEqual(namesOf({ rising: week.rising.slice(0, 1), returned: week.returned }), ['r0', 'b0', 'b1', 'b2', 'b3'])
  assert.deepEqual(namesOf({}), [])
})

for (const [why, week] of [
  [
    'visits more than usual: 9 visits in 7 days, usually 2.5, last on /docs',
    { rising: [risingCompany('A', 41, 40, { week_visits: 9, usual_visits: 2.5, last_page: 'x.example/docs' })] },
  ],
  ['is new: 4 visits', { newcomers: [homeCompany('A')] }],
  ['came back after more than 4 weeks: 4 visits', { returned: [homeCompany('A')] }],
] as const) {
  test(`a company ${why}`, () => {
    const [found] = companiesToLookAt({ rising: [], newcomers: [], returned: [], ...(week as object) })
    assert.equal(found!.why, why)
  })
}

test('a mail has the headers of RFC 8058 when its link is https, else that of RFC 2369 only', async (t) => {
  const smtp = await startMailServer(t)
  const mailer = new Mailer({ url: smtp.url, from: 'a@b.example' })
  const mail = { id: 'msg_1', to: 'c@d.example', subject: 'Digest', text: 'plain', html: '<p>rich</p>' }
  const head = async (unsubscribeUrl?: string) => {
    await mailer.send({ ...mail, unsubscribeUrl }, new AbortController().signal)
    const sent = smtp.mails.at(-1)!
    assert.ok(sent.includes('Content-Type: multipart/alternative') && sent.includes('<p>rich</p>'))
    const lines = sent.slice(0, sent.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ').split('\r\n')
    return lines.filter((line) => line.startsWith('List-')).sort()
  }
  assert.deepEqual(await head(LINK), [`List-Unsubscribe: <${LINK}>`, 'List-Unsubscribe-Post: List-Unsubscribe=One-Click'])
  const open = LINK.replace('https', 'http')
  assert.deepEqual(await head(open), [`List-Unsubscribe: <${open}>`])
  assert.deepEqual(await head(), [])
})
