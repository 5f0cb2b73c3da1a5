import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { daysOfRange } from '../../src/dashboard/pages/design/ranges.ts'
import { Receiver } from '../support/alerts.ts'
import { sharedChromium } from '../support/chromium.ts'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import { readMail } from '../support/mail.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { until } from '../support/until.ts'

/*
 * Tasks of a marketer, solved by the words on the pages alone. Two more are in dashboard-begin.test.ts: from an empty workspace to the first visit, and
 * sample data on and off.
 */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'tasks'
const OFFICE = 'wir.example'

test('a marketer does their tasks by the words on the pages', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, origin } = shared
  const run = (...args: string[]) => ran(shared, ...args)
  await run('tenant', 'create', TENANT)
  await storeVisits(ready.tables_url)
  const receiver = await Receiver.start(t)
  const { page, assertAccessible, assertClean } = await openAsMember(t, browser, shared, {
    tenant: TENANT,
    name: 'Mia',
  })
  const main = page.getByRole('main')
  const names = () => main.locator('tbody tr[data-row] th a').allTextContents()
  const openList = async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Companies', exact: true }).click()
    await main.getByRole('link', { name: 'Zweit Bank' }).waitFor()
  }
  const count = (text: string) => main.getByRole('status').getByText(text, { exact: true }).waitFor()

  await t.test('which five to look at today, and why', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Home', exact: true }).click()
    const card = main.getByRole('region', { name: 'Five to look at today' })
    const five = card.getByRole('listitem')
    await five.nth(4).waitFor()
    const reasons = await five.locator('.company-line-note').allTextContents()
    assert.equal(reasons.length, 5)
    for (const reason of reasons)
      assert.match(
        reason,
        /^(?:Is new|Came back after (?:more than )?\d+ (?:day|week)s?|Is heating up|Visits more than usual): /,
      )
    await assertAccessible()
    const name = (await five.first().getByRole('link').textContent())!
    await five.first().getByRole('link').click()
    await main.getByRole('heading', { level: 1, name }).waitFor()
    await main.getByText('1 of 5').waitFor()
    await main.getByRole('button', { name: 'Next company (j)' }).click()
    await main.getByText('2 of 5').waitFor()
  })

  await t.test('who is new this week in Germany', async () => {
    await openList()
    await main.getByRole('search').getByRole('button', { name: 'Visits from' }).click()
    await page.getByRole('checkbox', { name: /^Germany/ }).check()
    await page.keyboard.press('Escape')
    await main.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('menuitem', { name: 'New', exact: true }).click()
    await page.getByRole('button', { name: 'Last 7 days', pressed: false }).click()
    await count('1 company')
    assert.deepEqual(await names(), ['Neu GmbH'])
    await main.getByRole('button', { name: 'New: last 7 days' }).waitFor()
    assert.equal(new URL(page.url()).searchParams.get('new_days'), '7', 'a segment of it moves on')
    await main.getByRole('button', { name: 'Clear filters' }).click()
  })

  await t.test('who read pricing twice', async () => {
    await openList()
    await main.getByRole('button', { name: 'Page', exact: true }).click()
    await page.getByLabel('Part of the address').fill('/pricing')
    await page.getByRole('button', { name: 'Apply' }).click()
    await count('2 companies')
    await main.getByRole('button', { name: /^Page:/ }).click()
    await page.getByLabel('Visits with it, at least').fill('2')
    await assertAccessible()
    await page.getByRole('button', { name: 'Apply' }).click()
    await main.getByRole('button', { name: 'Page: contains /pricing, on 2 visits or more' }).waitFor()
    await count('1 company')
    assert.deepEqual(await names(), ['Leser SARL'])
    await main.getByRole('button', { name: /^Page:/ }).click()
    await page.getByRole('radio', { name: 'Is', exact: true }).check()
    await page.getByLabel('Page, such as').fill('/pricing')
    await page.getByRole('button', { name: 'Apply' }).click()
    await main.getByRole('button', { name: 'Page: /pricing, on 2 visits or more' }).waitFor()
    await count('1 company')
    await main.getByRole('button', { name: 'Clear Page' }).click()
    await main.getByRole('link', { name: 'Zweit Bank' }).waitFor()
  })

  await t.test('a wrong company is hidden', async () => {
    await openList()
    await main.getByRole('checkbox', { name: 'Choose Falsch Telecom' }).check()
    await main.getByRole('button', { name: 'Hide', exact: true }).click()
    await main.getByRole('link', { name: 'Falsch Telecom' }).waitFor({ state: 'detached' })
    await page.getByText('Falsch Telecom is hidden.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
  })

  await t.test('a message comes when a bank returns', async () => {
    await openList()
    await main.getByRole('search').getByRole('button', { name: 'Industry' }).click()
    await page.getByRole('checkbox', { name: /^Banking/ }).check()
    await page.keyboard.press('Escape')
    await main.getByRole('button', { name: 'Save as segment' }).click()
    await page.getByLabel('Name of the segment').fill('Banks')
    await page.getByRole('button', { name: 'Save segment' }).click()
    await main.getByRole('link', { name: 'Tell me when a company enters' }).click()
    await main.getByLabel('Tell me when').selectOption('a company returns after some days')
    await main.getByText('Would have fired once in 90 days').waitFor()
    await main.getByRole('link', { name: 'Zweit Bank' }).waitFor()
    await main.getByLabel('URL of your program').fill(receiver.url)
    await main.getByRole('button', { name: 'Create alert' }).click()
    await main.getByRole('heading', { name: 'The alert is on' }).waitFor()
    const listed = await run('alert', 'list', TENANT, '--json')
    assert.match(listed, /"company\.returned"/)
  })

  await t.test('the office is counted as a company, and is left out', async () => {
    await openList()
    await main.getByRole('link', { name: 'Wir selbst GmbH' }).click()
    await main.getByRole('button', { name: 'Edit company', exact: true }).click()
    await page.getByRole('menuitem', { name: 'It is not them…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What is wrong?').selectOption('It is us: our own visits')
    await dialog.getByText('Hides 1 company, with 1 visit').waitFor()
    await dialog.getByText('Wir selbst GmbH: 1 visit, no visible event is left').waitFor()
    await assertAccessible()
    await dialog.getByRole('button', { name: 'Make the rule and hide visits' }).click()
    await main.getByText('1 visit is hidden').waitFor()
    assert.match(await run('rules', 'list', TENANT), /own\s+203\.0\.113\./)
    await openList()
    assert.ok(!(await names()).includes('Wir selbst GmbH'))
  })

  await t.test('customers are imported, and a message comes when one of them comes back', async () => {
    await openList()
    await main.getByRole('link', { name: 'Import' }).click()
    const file = Buffer.from('Website,Status,Account manager\nhttps://www.bank.example/,Customer,Mia\n')
    await page.setInputFiles('input[type=file]', { name: 'customers.csv', mimeType: '', buffer: file })
    await main.getByText('1 company would change: 2 values.').waitFor()
    await main.getByRole('button', { name: 'Import: change 1 company' }).click()
    await main.getByText('1 company has new facts: 2 values').waitFor()
    await openList()
    await main.getByRole('link', { name: 'Customers who came back' }).click()
    await count('1 company')
    assert.deepEqual(await names(), ['Zweit Bank'])
    await main.getByRole('button', { name: 'Keep as “Customers who came back”' }).click()
    await main.getByRole('link', { name: 'Tell me when a company enters' }).click()
    await main.getByText(/^Would have fired (once|\d+ times) in \d+ days$/).waitFor()
    await main.getByRole('link', { name: 'Zweit Bank' }).first().waitFor()
    await main.getByText('E-mail', { exact: true }).click()
    await main.getByLabel('E-mail address').fill('mia@site.example')
    await assertAccessible()
    await main.getByRole('button', { name: 'Create alert' }).click()
    await main.getByRole('heading', { name: 'One step is left' }).waitFor()
    await until(() => shared.smtp.mails.some((mail) => readMail(mail).to === 'mia@site.example'))
    assert.match(await run('alert', 'list', TENANT, '--json'), /"Enters Customers who came back"/)
  })

  await t.test('the list of last week is sent to a colleague', async () => {
    await page.goto(`${origin}/t/${TENANT}/home`)
    await openList()
    await main.getByRole('button', { name: 'Last 30 days' }).click()
    await page.getByRole('button', { name: 'Last week' }).click()
    await count('1 company')
    assert.deepEqual(await names(), ['Wochen AG'])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      main.getByRole('link', { name: 'Export CSV' }).click(),
    ])
    assert.match(await readFile(await download.path(), 'utf8'), /^\ufeffCompany,[^\n]*\r\nWochen AG,/)
  })
  // The office has no visible event any more.
  assertClean([404])
})

async function storeVisits(clickhouseUrl: string): Promise<void> {
  const lastWeek = Math.round((Date.now() - Date.parse(`${daysOfRange('last-week').from}T12:00:00Z`)) / 86_400_000)
  const visits = [
    ['neu.example', 'Neu GmbH', 'Software', 'DE', 0, '/'],
    ['alt.example', 'Alt AG', 'Software', 'DE', 60, '/'],
    ['alt.example', 'Alt AG', 'Software', 'DE', 0, '/'],
    ['leser.example', 'Leser SARL', 'Software', 'FR', 25, '/pricing'],
    ['leser.example', 'Leser SARL', 'Software', 'FR', 24, '/pricing?plan=pro'],
    ['einmal.example', 'Einmal SARL', 'Software', 'FR', 24, '/pricing'],
    ['falsch.example', 'Falsch Telecom', 'Telecommunications', 'US', 0, '/'],
    ['bank.example', 'Zweit Bank', 'Banking', 'US', 70, '/'],
    ['bank.example', 'Zweit Bank', 'Banking', 'US', 0, '/'],
    ['woche.example', 'Wochen AG', 'Chemicals', 'CH', lastWeek, '/'],
    [OFFICE, 'Wir selbst GmbH', 'Machinery', 'AT', 0, '/'],
    ['frisch.example', 'Frisch AG', 'Machinery', 'AT', 0, '/'],
  ] as const
  const rows = visits.map(
    ([id, name, industry, code, days, path], i) =>
      `('${id === OFFICE ? '203.0.113.7' : `198.51.100.${i}`}', '${TENANT}', 'task-${i}', now64(3) - ${days} * 86400, now64(3) - ${days} * 86400, '${id}', '${id}', '${name}', '${id}', '${industry}', '${code}', '{"url":"https://site.example${path}"}')`,
  )
  const columns =
    'ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, domain, industry, country_code, extra'
  const body = `INSERT INTO events (${columns}) VALUES ${rows.join()}`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body })
  assert.equal(response.status, 200, await response.text())
}
