import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompanyChoices, Touch } from '../../schemas/companies.ts'
import type { ActivityAnswer } from '../../schemas/dashboard/activity.ts'
import type { ChannelsAnswer } from '../../schemas/dashboard/channels.ts'
import type { CompaniesPage, CompanyDetailsAnswer } from '../../schemas/dashboard/companies.ts'
import { CompanyCorrections } from '../../src/companies/corrections/corrections.ts'
import { clock, DAY_MS, event, NOON_MS, startCompanies, TODAY } from '../support/companies.ts'

/* Where companies came from: touches, their channels, and the filters and lists about them. */

const { clickhouse, insert, operator } = await startCompanies()
const TENANT = 'shop'
const PATH = `/api/tenants/${TENANT}`

const visit = (company: string, daysAgo: number, extra: Readonly<Record<string, unknown>>) =>
  event(company, {
    ...{ tenant_id: TENANT, timestamp: NOON_MS - daysAgo * DAY_MS, received_at: NOON_MS },
    ...{ ip: '192.0.2.1', extra: JSON.stringify(extra) },
  })
const at = (daysAgo: number) => new Date(NOON_MS - daysAgo * DAY_MS).toISOString()

const touchesOf = async (company: string) => {
  const { first_touch, last_touch } = await operator.read<ActivityAnswer>(
    `${PATH}/companies/of/${company}/activity?days=30`,
  )
  return { first: first_touch, last: last_touch }
}

const SITE = 'https://www.shop.example'
const URL = `${SITE}/`
/** The channel, source, medium and campaign of an event. */
const EVENTS: readonly (readonly [extra: Readonly<Record<string, unknown>>, touch: string | null])[] = [
  [{ url: URL }, 'direct|||'],
  [{ url: '/pricing' }, 'direct|||'],
  // A URL without a host is of an unknown site, which may be that of the referrer.
  [{ url: '/pricing', referrer: URL }, 'direct|||'],
  [{}, null],
  // Its own site, also under another name.
  [{ url: URL, referrer: `${SITE}/pricing` }, 'direct|||'],
  [{ url: URL, referrer: 'https://blog.shop.example/' }, 'direct|||'],
  [{ url: 'http://localhost:3000/', referrer: 'http://localhost:3000/a' }, 'direct|||'],
  [{ url: `${URL}?utm_source=(direct)&utm_medium=(none)` }, 'direct|||'],
  [{ url: `${URL}?utm_source=direct&utm_campaign=mailing` }, 'other campaign|direct||mailing'],
  [{ url: URL, referrer: 'https://www.google.com/' }, 'organic search|google.com|referral|'],
  [{ url: URL, referrer: 'https://www.google.co.uk/search' }, 'organic search|google.co.uk|referral|'],
  [{ url: URL, referrer: 'https://de.search.yahoo.com/' }, 'organic search|de.search.yahoo.com|referral|'],
  [
    { url: URL, referrer: 'android-app://com.google.android.googlequicksearchbox/' },
    'organic search|com.google.android.googlequicksearchbox|referral|',
  ],
  [{ url: URL, referrer: 'https://mail.google.com/' }, 'referral|mail.google.com|referral|'],
  [{ url: URL, referrer: 'https://google.com.evil.example/' }, 'referral|google.com.evil.example|referral|'],
  [{ url: URL, referrer: 'https://notgoogle.com/' }, 'referral|notgoogle.com|referral|'],
  [{ url: URL, referrer: 'https://chatgpt.com/' }, 'referral|chatgpt.com|referral|'],
  [{ referrer: 'https://partner.example/', utm_source: 'news' }, null],
  [{ url: URL, referrer: 'https://ask.ibm.com/' }, 'referral|ask.ibm.com|referral|'],
  [{ url: URL, referrer: 'https://threads.acme.com/' }, 'referral|threads.acme.com|referral|'],
  [{ url: URL, referrer: 'https://www.google.com.tr/' }, 'organic search|google.com.tr|referral|'],
  [{ url: URL, referrer: 'nonsense' }, 'direct|||'],
  [{ url: URL, referrer: 'https://www.linkedin.com/' }, 'organic social|linkedin.com|referral|'],
  [{ url: URL, referrer: 'https://lnkd.in/x' }, 'organic social|lnkd.in|referral|'],
  [{ url: URL, referrer: 'https://t.co/x' }, 'organic social|t.co|referral|'],
  [{ url: URL, referrer: 'https://l.facebook.com/' }, 'organic social|l.facebook.com|referral|'],
  [{ url: `${URL}?gclid=abc`, referrer: 'https://www.google.com/' }, 'paid search|google|cpc|'],
  [{ url: `${URL}?a=1&msclkid=abc` }, 'paid search|bing|cpc|'],
  [{ url: `${URL}?utm_campaign=123&gclid=abc` }, 'paid search|google|cpc|123'],
  [{ url: `${URL}?dclid=abc` }, 'display|dv360|cpm|'],
  [{ url: `${URL}?li_fat_id=abc` }, 'paid social|linkedin|cpc|'],
  [{ url: `${URL}?notgclid=abc` }, 'direct|||'],
  // A campaign comes before the rest.
  [
    { url: `${URL}?utm_source=Google&utm_medium=CPC&utm_campaign=Spring%20sale&gclid=abc` },
    'paid search|google|cpc|Spring sale',
  ],
  [{ url: URL, utm_source: 'LinkedIn', utm_medium: 'paid-social' }, 'paid social|linkedin|paid-social|'],
  [{ url: `${URL}?utm_source=linkedin&utm_medium=social` }, 'organic social|linkedin|social|'],
  [{ url: `${URL}?utm_source=adnet&utm_medium=banner` }, 'display|adnet|banner|'],
  [{ url: `${URL}?utm_source=adnet&utm_medium=cpc` }, 'other paid|adnet|cpc|'],
  [{ url: `${URL}?utm_source=bing&utm_medium=organic` }, 'organic search|bing|organic|'],
  [{ url: `${URL}?utm_source=june&utm_medium=email&utm_campaign=news` }, 'email|june|email|news'],
  [{ url: `${URL}?utm_source=e-mail` }, 'email|e-mail||'],
  [{ url: `${URL}?utm_source=bob&utm_medium=affiliate` }, 'affiliates|bob|affiliate|'],
  [{ url: `${URL}?utm_source=partner&utm_medium=referral` }, 'referral|partner|referral|'],
  [{ url: `${URL}?utm_source=chatgpt.com` }, 'referral|chatgpt.com||'],
  [{ url: `${URL}?utm_campaign=webinar` }, 'other campaign|||webinar'],
  [{ url: `${URL}?utm_source=booth&utm_medium=qr&utm_campaign=fair` }, 'other campaign|booth|qr|fair'],
  [{ properties: 1, url: `${URL}?utm_source=${'x'.repeat(300)}` }, `other campaign|${'x'.repeat(100)}||`],
]

test('the channel of a touch is the one of Google Analytics for its source and medium', async () => {
  await insert(EVENTS.map(([extra], i) => visit(`c${i}.example`, 1, extra)))
  const companies = EVENTS.map((_, i) => `c${i}.example`)
  const answer = await operator.post(`${PATH}/companies/details`, { companies })
  const details = ((await answer.json()) as CompanyDetailsAnswer).companies
  const textOf = (touch: Touch | null) =>
    touch === null ? null : [touch.channel, touch.source, touch.medium, touch.campaign].join('|')
  const found = new Map(details.map(({ company_id, first_touch }) => [company_id, textOf(first_touch)]))
  assert.deepEqual(
    EVENTS.map(([extra], i) => [extra, found.get(`c${i}.example`)]),
    EVENTS,
  )
})

test('the first touch is the earliest, and the last one the latest that is not direct', async () => {
  const google = { channel: 'paid search', source: 'google', medium: 'cpc', campaign: 'spring' }
  const mail = { channel: 'email', source: 'june', medium: 'email', campaign: 'news' }
  const direct = { channel: 'direct', source: '', medium: '', campaign: '' }
  const spring = { url: `${URL}?utm_source=google&utm_medium=cpc&utm_campaign=spring` }
  const news = { url: `${URL}?utm_source=june&utm_medium=email&utm_campaign=news` }
  await insert([
    visit('two.example', 20, spring),
    visit('two.example', 20, { url: `${URL}pricing` }),
    visit('two.example', 9, spring),
    visit('two.example', 5, news),
    visit('two.example', 1, { url: URL }),
    // No page: it is no touch.
    visit('two.example', 30, { plan: 'pro' }),
    visit('walkin.example', 8, { url: URL }),
    visit('walkin.example', 3, { url: URL }),
    visit('known.example', 40, { url: URL }),
    visit('known.example', 2, spring),
    visit('silent.example', 2, {}),
    // A clock that is ahead.
    visit('ahead.example', 3, spring),
    visit('ahead.example', -5, news),
  ])
  // Another part of the table.
  await insert([visit('two.example', 4, news)])
  assert.deepEqual(await touchesOf('two.example'), { first: { at: at(20), ...google }, last: { at: at(4), ...mail } })
  assert.deepEqual(await touchesOf('walkin.example'), {
    first: { at: at(8), ...direct },
    last: { at: at(3), ...direct },
  })
  assert.deepEqual(await touchesOf('known.example'), {
    first: { at: at(40), ...direct },
    last: { at: at(2), ...google },
  })
  assert.deepEqual(await touchesOf('silent.example'), { first: null, last: null })
  assert.deepEqual(await touchesOf('ahead.example'), {
    first: { at: at(3), ...google },
    last: { at: at(3), ...google },
  })
})

test('filters keep companies by channel and campaign, and lists count what the filters keep', async () => {
  const names = async (query: string) =>
    (await operator.read<CompaniesPage>(`${PATH}/companies?search=.example&limit=200&${query}`)).rows
      .map(({ company_id }) => company_id)
      .filter((id) => !/^c\d/.test(id))
      .sort()
  assert.deepEqual(await names('first_channel=paid%20search'), ['ahead.example', 'two.example'])
  assert.deepEqual(await names('last_channel=email'), ['two.example'])
  assert.deepEqual(await names('last_channel=email&last_channel=direct'), ['two.example', 'walkin.example'])
  assert.deepEqual(await names('first_channel=-'), ['silent.example'])
  assert.deepEqual(await names('first_channel_not=direct&first_channel_not=-'), ['ahead.example', 'two.example'])
  assert.deepEqual(await names('first_campaign=spring&last_campaign=news'), ['two.example'])
  assert.deepEqual(
    await names(`condition=${encodeURIComponent('first_channel=direct and not last_campaign=spring')}`),
    ['walkin.example'],
  )
  const from = new Date(NOON_MS - 29 * DAY_MS).toISOString().slice(0, 10)
  for (const touch of ['first', 'last'] as const) {
    const answer = await operator.read<ChannelsAnswer>(`${PATH}/channels?from=${from}&to=${TODAY}&touch=${touch}`)
    const total = async (query: string) =>
      (await operator.read<CompaniesPage>(`${PATH}/companies?from=${from}&to=${TODAY}&${query}`)).total
    assert.equal(answer.companies, await total(''))
    assert.equal(
      answer.channels.reduce((sum, { companies }) => sum + companies, 0),
      answer.companies,
    )
    for (const { channel, companies } of answer.channels)
      assert.equal(companies, await total(`${touch}_channel=${encodeURIComponent(channel || '-')}`), channel)
    assert.ok(answer.campaigns.length > 3 && answer.sources.length > 10)
    for (const { campaign, companies } of answer.campaigns.slice(0, 2))
      assert.equal(companies, await total(`${touch}_campaign=${encodeURIComponent(campaign)}`), campaign)
  }
  const choices = await operator.read<CompanyChoices>(`${PATH}/companies/choices?search=two.example`)
  assert.deepEqual(
    [choices.first_channel, choices.last_channel, choices.first_campaign, choices.last_campaign],
    ['paid search', 'email', 'spring', 'news'].map((value) => [{ value, companies: 1 }]),
  )
  assert.equal((await operator.get(`${PATH}/channels?from=2026-01-01&to=${TODAY}`)).status, 200)
  assert.equal((await operator.get(`${PATH}/channels?from=2020-01-01&to=${TODAY}`)).status, 422)
})

test('merged companies have the touches of all, and hidden ones are in no list', async () => {
  const corrections = new CompanyCorrections(
    () => clickhouse.client,
    clock,
    async (_tenant, work) => await work(),
  )
  await corrections.correct('shop', {
    companies: ['known.example'],
    wanted: { merged_into: 'two.example' },
    by: 'test',
  })
  await corrections.correct('shop', { companies: ['walkin.example'], wanted: { hidden: true }, by: 'test' })
  const { first, last } = await touchesOf('two.example')
  assert.deepEqual([first?.at, first?.channel, last?.at, last?.channel], [at(40), 'direct', at(2), 'paid search'])
  const days = `from=2026-03-01&to=${TODAY}`
  const { channels, companies } = await operator.read<ChannelsAnswer>(`${PATH}/channels?${days}&touch=last`)
  const all = await operator.read<CompaniesPage>(`${PATH}/companies?${days}`)
  assert.equal(companies, all.total)
  const direct = await operator.read<CompaniesPage>(`${PATH}/companies?${days}&last_channel=direct`)
  assert.equal(channels.find(({ channel }) => channel === 'direct')?.companies, direct.total)
})
