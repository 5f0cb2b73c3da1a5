import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CompanyActivity,
  type DigestReason,
  digestMessage,
  jobMessage,
  type Message,
  type MessageContext,
  messageOf,
  type ReportedCompany,
  type ReportedJob,
  testMessage,
  textOf,
  withActivity,
} from '../../../src/alerts/messages.ts'
import { slackBody, slackText } from '../../../src/alerts/sending/slack.ts'
import { teamsBody } from '../../../src/alerts/sending/teams.ts'
import { ACTIVITY } from '../../support/alerts.ts'
import { slackAnswer, teamsAnswer } from '../../support/chat-services.ts'

const CONTEXT: MessageContext = {
  ...{ tenantId: 'acme', alertId: 'a', alertName: 'Hot <1>', segment: 'Keen' },
  dashboardUrl: 'http://dash.example',
}
const EVIL = '<!channel> *[free](https://evil.example)* `x` _y_ \n|z'

const JOB: ReportedJob = {
  ...{ job_id: 'j1', status: 'completed', cancelled: false, label: 'crm', file_name: null },
  ...{ received: 1_000, stored: 988, rejected: 11, invalid_ip: 1, started_at: null, ended_at: null },
  progress_message: 'all 1000 events finished',
}

function aboutCompany(company: Partial<ReportedCompany>, activity?: Partial<CompanyActivity>): Message {
  const at = new Date(0).toISOString()
  const full: ReportedCompany = {
    ...{ company_id: 'acme.example', name: 'Acme', domain: 'acme.example', industry: '', industry_category: '' },
    ...{ country_code: '', classification: 'business', first_seen: at, last_seen: at, ...company },
  }
  const message = messageOf('segment.entered', { company: full, atMs: 0 }, CONTEXT)
  return activity === undefined ? message : withActivity(message, { ...ACTIVITY, ...activity })
}

function digestOf(lines: number, total: number, name: string, reason: DigestReason): Message {
  const found = Array.from({ length: lines }, (_, i) => ({
    ...{ company_id: `c${i}`, name: `C${i} ${name}`, why: 'came back', url: `http://dash.example/${i}` },
  }))
  return digestMessage({ lines: found, total, reason }, CONTEXT, 0)
}

const MESSAGES: readonly (readonly [about: string, message: Message])[] = [
  ['a test', testMessage(CONTEXT, 0)],
  ['a test about uploads', testMessage(CONTEXT, 0, 'job.ended')],
  ['an upload with markup', jobMessage('job.ended', { ...JOB, label: EVIL }, CONTEXT, 0)],
  ['a company without facts', aboutCompany({ domain: '' })],
  [
    'a company with long texts',
    aboutCompany({ name: 'n'.repeat(5_000), domain: 'd'.repeat(9_000) }, { page: 'p'.repeat(9_000) }),
  ],
  [
    'a company with markup',
    aboutCompany({ name: EVIL, industry: EVIL }, { page: EVIL, utm_source: EVIL, utm_campaign: EVIL }),
  ],
  ['an id without end', aboutCompany({ company_id: 'é'.repeat(2_000) }, {})],
  ['a digest', digestOf(3, 3, '', 'limit')],
  ['a digest with too many lines', digestOf(500, 1_000, EVIL, 'weekly')],
  ['a digest with long names', digestOf(500, 500, 'ü'.repeat(500), 'weekly')],
]

for (const [about, message] of MESSAGES) {
  test(`Slack and Teams take ${about}`, () => {
    assert.deepEqual(slackAnswer(slackBody(message)), { status: 200, text: 'ok' })
    assert.deepEqual(teamsAnswer(teamsBody(message)), { status: 202, text: '' })
  })
}

test('the servers of this test refuse what the services refuse', () => {
  const blocks = Array.from({ length: 51 }, () => ({ type: 'section', text: { type: 'plain_text', text: 'a' } }))
  const fields = Array.from({ length: 11 }, () => ({ type: 'plain_text', text: 'a' }))
  for (const [body, text] of [
    ['nothing', 'invalid_payload'],
    ['{}', 'no_text'],
    [JSON.stringify({ text: 'a', blocks }), 'invalid_blocks'],
    [JSON.stringify({ text: 'a', blocks: [{ type: 'section', fields }] }), 'invalid_blocks'],
    [
      JSON.stringify({ text: 'a', blocks: [{ type: 'section', text: { type: 'mrkdwn', text: '' } }] }),
      'invalid_blocks',
    ],
  ] as const) {
    assert.deepEqual(slackAnswer(body), { status: 400, text })
  }
  const card = (content: object) => {
    const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', content }
    return teamsAnswer(JSON.stringify({ type: 'message', attachments: [attachment] })).text
  }
  const head = { type: 'AdaptiveCard', version: '1.4' }
  assert.match(teamsAnswer('{"text":"a"}').text, /no message/)
  assert.match(card({ ...head, body: [{ type: 'Text', text: 'a' }] }), /Unknown element type "Text"/)
  assert.match(card({ ...head, body: [{ type: 'TextBlock', text: 'a', bold: true }] }), /a property is unknown/)
  assert.match(card({ ...head, body: [], actions: [{ type: 'Action.OpenUrl', title: 'a' }] }), /"url" must be set/)
})

test('no name adds markup to a message of Slack or a card of Teams', () => {
  const message = aboutCompany({ name: EVIL }, { page: EVIL })
  const { text, blocks } = JSON.parse(slackBody(message))
  for (const shown of [text, blocks[0].text.text]) {
    assert.match(shown, /\|&lt;!channel&gt; {2}\[free\]\(https:\/\/evil\.example\) {3}x {3}y {3}z>\* entered/)
  }
  assert.equal(blocks[1].fields[1].type, 'plain_text')
  const [{ content }] = JSON.parse(teamsBody(message)).attachments
  const types = content.body.flatMap((element: { type: string; inlines: readonly { type: string }[] }) => [
    element.type,
    ...element.inlines.map(({ type }) => type),
  ])
  assert.deepEqual(new Set(types), new Set(['RichTextBlock', 'TextRun']), 'only these have no markup')
})

test('a message about an upload says how it ended', () => {
  const saying = (job: Partial<ReportedJob>) => textOf(jobMessage('job.ended', { ...JOB, ...job }, CONTEXT, 0)).subject
  assert.equal(saying({}), 'Upload crm is completed: 988 of 1,000 lines stored, 12 rejected')
  assert.equal(
    saying({ label: null, file_name: 'a.csv', rejected: 0, invalid_ip: 0 }),
    'Upload a.csv is completed: 988 of 1,000 lines stored',
  )
  assert.equal(saying({ status: 'failed', cancelled: true }), 'Upload crm was cancelled')
  assert.equal(
    saying({ status: 'failed', progress_message: 'chunk 2 of 3 of the upload was lost' }),
    'Upload crm failed: chunk 2 of 3 of the upload was lost',
  )
  const { blocks } = JSON.parse(slackBody(jobMessage('job.ended', JOB, CONTEXT, 0)))
  assert.equal(blocks.at(-1).elements[0].text.text, 'Open uploads')
})

test('a digest is a short list with the number of the rest', () => {
  const text = slackText(digestOf(60, 1_000, '<&>', 'weekly')).split('\n')
  assert.equal(text[0], '*<http://dash.example/t/acme/companies|Hot &lt;1&gt;: 1,000 companies this week>*')
  assert.equal(text[1], '<http://dash.example/0|C0 &lt;&amp;&gt;> came back')
  assert.deepEqual([text.length, text.at(-1)], [52, 'and 950 more'])
  const ofLimit = slackText(digestOf(60, 1_000, '', 'limit')).split('\n')
  assert.equal(ofLimit[0], '*<http://dash.example/t/acme/companies|Hot &lt;1&gt;: 1,000 more companies>*')
  const [{ content }] = JSON.parse(teamsBody(digestOf(60, 1_000, '', 'limit'))).attachments
  assert.deepEqual([content.body.length, content.body.at(-1).inlines[0].text], [62, 'and 940 more'])
  assert.equal(content.actions[0].title, 'Open companies')
})

for (const [activity, facts] of [
  [{}, 'Came from: search.example'],
  [{ utm_source: 'newsletter', utm_campaign: 'spring' }, 'Came from: newsletter, campaign spring'],
  [{ referrer: '', utm_campaign: 'spring' }, 'Came from: campaign spring'],
  [{ referrer: '' }, 'Visits: 3'],
] as const) {
  test(`an origin is named when it is known: ${facts}`, () => {
    assert.equal(slackText(aboutCompany({}, activity)).split('\n')[3], facts)
  })
}
