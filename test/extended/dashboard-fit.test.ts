import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompanyChoices } from '../../schemas/companies.ts'
import type { CompaniesPage, CompanyDetailsAnswer } from '../../schemas/dashboard/companies.ts'
import type { CompanyAnswer } from '../../schemas/dashboard/company.ts'
import type { CorrectedAnswer } from '../../schemas/dashboard/corrections.ts'
import { FIT_LIMITS, type FitAnswer, type FitPreview } from '../../schemas/dashboard/fit.ts'
import {
  DEFAULT_HEAT_WEIGHTS,
  HEAT_PREVIEW_ROWS,
  type HeatPreview,
  type HeatWeightsAnswer,
} from '../../schemas/dashboard/heat.ts'
import type { HomeAnswer } from '../../schemas/dashboard/home.ts'
import { DAY_MS, event, NOON_MS, startCompanies } from '../support/companies.ts'

/* What a tenant says about good companies, and the points of heat: set by calls, and seen in lists, exports and on the first page. */

const { insert, operator, dashboard } = await startCompanies()
const PATH = '/api/tenants/fits'

/** Name, industry, country, class. */
const COMPANIES = [
  ['alps.example', 'Software', 'AT', 'business'],
  ['bank.example', 'Banks', 'DE', 'business'],
  ['cafe.example', 'Food', 'FR', 'business'],
  ['dean.example', 'Software', 'DE', 'education'],
  ['even.example', 'Software', 'DE', 'business'],
] as const

async function done(call: string, body: object, as = operator): Promise<CorrectedAnswer> {
  const response = await as.post(`${PATH}/${call}`, body)
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as CorrectedAnswer
}
const listed = async (query: string) => {
  const { rows, total } = await operator.read<CompaniesPage>(`${PATH}/companies?${query}`)
  assert.equal(rows.length, total)
  return rows.map(({ company_id, fit }) => `${company_id.slice(0, 4)} ${fit}`.trim())
}
const refusal = async (call: string, body: object, as = operator) => {
  const response = await as.post(`${PATH}/${call}`, body)
  return `${response.status} ${await response.text()}`
}

test('fit is a column, an order, a filter and a choice of the list, and its reasons are in words', async () => {
  await insert(
    COMPANIES.map(([id, industry, country_code, classification], i) =>
      event(id, { tenant_id: 'fits', industry, country_code, classification, timestamp: NOON_MS - i * 1_000 }),
    ),
  )
  assert.deepEqual(await listed('sort=name&direction=asc'), ['alps', 'bank', 'cafe', 'dean', 'even'])
  assert.deepEqual(await listed('fit=good'), [], 'without lines no company has a fit')
  assert.equal((await listed('fit=-')).length, 5)
  assert.deepEqual((await operator.read<FitAnswer>(`${PATH}/fit`)).lines, [])
  const header = async () => (await (await operator.get(`${PATH}/companies/export`)).text()).split('\r\n')[0]!
  assert.ok(!(await header()).includes('Fit'))

  const lines = [
    { is: 'good', where: 'industry=Software' },
    { is: 'good', where: 'country="DE",country=at' },
    { is: 'poor', where: 'classification=education' },
  ]
  const preview = (await (await operator.post(`${PATH}/fit/preview`, { lines })).json()) as FitPreview
  assert.deepEqual(preview, {
    ...{ good: 2, ok: 1, poor: 2 },
    lines: [
      { is: 'good', where: 'industry=Software', label: 'Software', companies: 3 },
      { is: 'good', where: 'country=DE,country=AT', label: 'Germany or Austria', companies: 4 },
      { is: 'poor', where: 'classification=education', label: 'education', companies: 1 },
    ],
  })
  assert.equal((await listed('fit=good')).length, 0, 'a preview changes nothing')
  const change = await done('fit', { lines })
  assert.deepEqual(await listed('sort=fit&direction=desc'), [
    ...['alps good', 'even good', 'bank ok', 'cafe poor', 'dean poor'],
  ])
  assert.deepEqual(await listed('sort=fit&direction=asc'), [
    ...['cafe poor', 'dean poor', 'bank ok', 'alps good', 'even good'],
  ])
  assert.deepEqual(await listed('fit=good&fit=ok&sort=name&direction=asc'), ['alps good', 'bank ok', 'even good'])
  assert.deepEqual(await listed('fit_not=poor&country=DE&sort=name&direction=asc'), ['bank ok', 'even good'])
  const condition = encodeURIComponent('(fit=poor and not industry=Food) or fit=ok')
  assert.deepEqual(await listed(`condition=${condition}&sort=name&direction=asc`), ['bank ok', 'dean poor'])
  const { fit } = await operator.read<CompanyChoices>(`${PATH}/companies/choices`)
  assert.deepEqual(
    fit.map(({ value, companies }) => `${companies} ${value}`),
    ['2 good', '2 poor', '1 ok'],
  )
  const { rows } = await operator.read<CompaniesPage>(`${PATH}/companies?sort=name&direction=asc`)
  assert.deepEqual(
    rows.map(({ fit_reasons }) => fit_reasons),
    [['Software', 'Austria'], ['Germany'], [], ['education'], ['Software', 'Germany']],
  )
  const { company } = await operator.read<CompanyAnswer>(`${PATH}/companies/of/dean.example`)
  assert.deepEqual([company.fit, company.fit_reasons], ['poor', ['education']])

  const csv = (await (await operator.get(`${PATH}/companies/export?sort=name&direction=asc`)).text()).split('\r\n')
  assert.match(csv[0]!, /,Id,First channel,First campaign,Last channel,Last campaign,Fit,Fit reasons$/)
  assert.match(csv[1]!, /,good,"Software, Austria"$/)
  assert.match(csv[3]!, /,poor,$/)
  assert.ok(!(await (await operator.get(`${PATH}/companies/export?hide=fit&hide=fit_reasons`)).text()).includes('Fit'))

  // A hidden company has no place in a preview, and a tag changes fit at once.
  await done('corrections', { companies: ['cafe.example'], hidden: true })
  await done('corrections', { companies: ['even.example'], add_tags: ['rival'] })
  await done('fit', { lines: [...lines, { is: 'poor', where: 'tag=rival' }] })
  assert.deepEqual(await listed('fit=good'), ['alps good'])
  const { lines: held, changes } = await operator.read<FitAnswer>(`${PATH}/fit`)
  assert.equal(held.length, 4)
  assert.equal(changes.length, 2)
  const answer = (await (await operator.post(`${PATH}/fit/preview`, { lines: [] })).json()) as FitPreview
  assert.deepEqual(answer, { good: 0, ok: 0, poor: 0, lines: [] })

  for (const [wrong, part] of [
    [{ lines: [{ is: 'good', where: 'heat>=50' }] }, 'fit is about what a company is, not about what it did'],
    [{ lines: [{ is: 'great', where: 'tag=a' }] }, 'lines[0].is'],
    [{ lines: [{ is: 'good', where: '' }] }, 'where'],
    [{ lines: Array.from({ length: FIT_LIMITS.lines + 1 }, (_, i) => ({ is: 'good', where: `tag=${i}` })) }, 'lines'],
  ] as const) {
    for (const call of ['fit', 'fit/preview']) {
      const text = await refusal(call, wrong)
      assert.ok(text.startsWith('422') && text.includes(part), text)
    }
  }
  assert.match(
    String((await operator.get(`${PATH}/companies?fit=great`)).status),
    /^422$/,
    'a fit that does not exist is no empty list',
  )
  assert.match(await refusal('corrections/undo', { change_id: change.change_id }), /^422.*was corrected again later/)
})

test('points of heat change lists at once, after a preview of the hottest companies', async () => {
  const rows = Array.from({ length: HEAT_PREVIEW_ROWS + 2 }, (_, i) => {
    // The higher the number, the longer ago and the more events.
    const at = Date.now() - i * DAY_MS
    return Array.from({ length: 1 + 2 * i }, () => event(`h${10 + i}.example`, { tenant_id: 'quiet', timestamp: at }))
  })
  await insert(rows.flat())
  const path = '/api/tenants/quiet/heat-weights'
  assert.deepEqual((await operator.read<HeatWeightsAnswer>(path)).weights, DEFAULT_HEAT_WEIGHTS)
  const weights = { recency: 0, frequency: 0, depth: 100, intent: 0 }
  const previewed = await operator.post(`${path}/preview`, weights)
  const { now, wanted } = (await previewed.json()) as HeatPreview
  assert.equal(now.length, HEAT_PREVIEW_ROWS)
  assert.equal(wanted[0]!.name, 'h21.example')
  assert.equal(wanted[0]!.heat, Math.round((100 * Math.log2(1 + 23)) / 5))
  const heatsOf = async () => {
    const { rows: found } = await operator.read<CompaniesPage>('/api/tenants/quiet/companies?sort=heat')
    const companies = found.map(({ company_id }) => company_id)
    const details = (await (
      await operator.post('/api/tenants/quiet/companies/details', { companies })
    ).json()) as CompanyDetailsAnswer
    return companies
      .map((id) => ({ id, heat: details.companies.find(({ company_id }) => company_id === id)!.heat?.heat ?? 0 }))
      .slice(0, HEAT_PREVIEW_ROWS)
  }
  const asHeats = (list: HeatPreview['now']) => list.map(({ company_id: id, heat }) => ({ id, heat }))
  assert.deepEqual(await heatsOf(), asHeats(now), 'a preview changes nothing')
  const levels = () => operator.read<{ median: number; top: number }>('/api/tenants/quiet/heat-levels')
  const levelsBefore = await levels()
  const set = async (body: object) => operator.post(path, body)
  const { change_id } = (await (await set(weights)).json()) as CorrectedAnswer
  assert.deepEqual(await heatsOf(), asHeats(wanted))
  const { median, top } = await levels()
  assert.ok(top > median && top <= 100)
  assert.notDeepEqual({ median, top }, levelsBefore)

  for (const wrong of [
    { ...weights, intent: 1 },
    { ...weights, depth: 101 },
    { ...weights, size: 0 },
    { depth: 100 },
  ]) {
    for (const to of [path, `${path}/preview`]) assert.equal((await operator.post(to, wrong)).status, 422)
  }

  const member = await dashboard.signIn({
    role: 'member',
    tenant: { id: 'quiet', createdAt: '2026-01-01T00:00:00.000Z' },
  })
  const undo = (as: typeof member) => as.post('/api/tenants/quiet/corrections/undo', { change_id })
  const refused = await undo(member)
  assert.equal(refused.status, 422)
  assert.match(await refused.text(), /only admins of this workspace may take this change back/)
  assert.deepEqual(await heatsOf(), asHeats(wanted))
  assert.equal((await undo(operator)).status, 200)
  assert.deepEqual(await levels(), levelsBefore)
  const { weights: back, changes } = await operator.read<HeatWeightsAnswer>(path)
  assert.deepEqual([back, changes.length], [DEFAULT_HEAT_WEIGHTS, 2])
})

test('the five to look at are good fits first, however many poor ones visit more', async () => {
  const tenant_id = 'linked'
  // Twenty new companies that do not fit, with more visits than the one that does.
  const visits = (id: string, count: number, industry: string) =>
    Array.from({ length: count }, (_, i) => event(id, { tenant_id, industry, ip: `192.0.2.${i}` }))
  await insert([
    ...Array.from({ length: 20 }, (_, i) => visits(`poor${i}.example`, 5, 'Food')).flat(),
    ...visits('fine.example', 1, 'Software'),
  ])
  const home = () => operator.read<HomeAnswer>('/api/tenants/linked/home')
  const before = await home()
  assert.equal(before.to_look_at.length, 5)
  assert.ok(before.newcomers.every(({ company_id }) => company_id.startsWith('poor')))
  const lines = [{ is: 'good', where: 'industry=Software' }]
  assert.equal((await operator.post('/api/tenants/linked/fit', { lines })).status, 200)
  const { to_look_at, newcomers } = await home()
  assert.deepEqual(to_look_at, [{ company_id: 'fine.example', why: 'is a good fit and new: 1 visit' }])
  assert.deepEqual(
    newcomers.map(({ fit }) => fit),
    ['good', 'poor', 'poor', 'poor', 'poor', 'poor'],
  )
})
