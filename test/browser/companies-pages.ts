import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import type { WatchedPage } from '../support/watched-page.ts'

export interface CompaniesSite {
  readonly origin: string
  readonly apiUrl: string
  readonly clickhouseUrl: string
  readonly tenant: string
  readonly apiKey: string
}

/** An address of a company in the starter data. */
const KNOWN_IP = '17.253.144.10'
const MANY = 120
const CHOICES_TAKE_MS = 600
const CHOICES_SHOWN_MS = 180_000

/** Overview, companies and a company, as a person uses them, on a tenant without events. */
export async function checkCompaniesPages(watched: WatchedPage, site: CompaniesSite): Promise<void> {
  const { page, assertAccessible } = watched
  const at = (path: string) => `${site.origin}/t/${site.tenant}/${path}`
  // The former name of Home.
  await page.goto(at('overview'))
  await page.waitForURL(at('home'))
  await page.getByRole('heading', { name: 'First steps' }).waitFor()
  assert.equal(await page.title(), `Home · ${site.tenant} · ipid`)
  await assertAccessible()
  // Slow, so that the options of filters load again only after one is set.
  await page.route('**/companies/choices*', async (route) => {
    await setTimeout(CHOICES_TAKE_MS)
    await route.continue()
  })
  await page.goto(at('companies'))
  // Without an event the page says what comes here, and the next step. There is nothing to filter, to share or to export.
  const zero = page.getByRole('main')
  await zero.getByRole('heading', { name: 'Companies that visit your website appear here' }).waitFor()
  assert.equal(await zero.getByRole('search').count(), 0)
  assert.deepEqual(await zero.getByRole('button').allTextContents(), ['Look around with sample data'])
  assert.equal(
    await zero.getByRole('link', { name: 'Connect your website' }).getAttribute('href'),
    `/t/${site.tenant}/home`,
  )
  await zero.getByText('Or send one event from a command line').click()
  await zero.getByLabel('Command that sends an event').waitFor()
  await assertAccessible()

  // The page is not reloaded: the company appears by itself.
  await sendEvent(site)
  const first = page.getByRole('row').filter({ hasText: 'apple.com' })
  await first.getByText('new', { exact: true }).waitFor()
  await first.getByRole('img', { name: '1 visit in 30 days' }).waitFor()

  await storeCompanies(site)
  await page.getByText(`${MANY + 1} companies`).waitFor()
  await checkFrozenOrder(page)
  await assertAccessible()
  await checkView(page, site)
  await page.unrouteAll({ behavior: 'wait' })
  await checkExport(page)
  await checkBulk(watched, site)
  await checkCompany(watched, at('companies'))
  await checkOddIds(watched, site)
  await checkNotThem(watched, site)
  await checkUnknown(watched, site)
  await checkClickWhileEventsArrive(page, site)

  await checkHome(watched, site)
  await checkPages(watched, site)
  await page.goto(at('home/received'))
  await page.getByRole('heading', { name: 'Top companies' }).waitFor()
  await page.locator('.ui-chart .u-over').first().waitFor()
  await assertAccessible()
  await checkClocks(page, at('home/received'))
  await checkMissingTable(page, site)
  await checkWays(page, site)
  await checkNarrow(
    page,
    ['home', 'home/received', 'pages', 'companies', 'companies/unknown', `companies/of?id=apple.com`].map(at),
  )
}

/** This week in a sentence, the companies to look at, the others, and how many events could be named. */
async function checkHome({ page, assertAccessible }: WatchedPage, { origin, tenant }: CompaniesSite): Promise<void> {
  const home = `${origin}/t/${tenant}/home`
  await page.goto(home)
  const main = page.getByRole('main')
  await main
    .getByText(
      /^\d+ visits from \d+ companies \(\d+ new\) in the last 7 days, .* in the 7 days before\. Today is not over yet\.$/,
    )
    .waitFor()
  await main.getByRole('figure', { name: 'Visits of companies by day' }).locator('.u-over').waitFor()
  const five = main.getByRole('region', { name: 'Five to look at today' })
  await five.getByText('Is new: 1 visit, began on /pricing').waitFor()
  assert.equal(await five.getByRole('listitem').count(), 5)
  // Those with the most visits are first, so Apple, with a page of its own, is one of the few.
  await five.getByRole('link', { name: 'Apple' }).waitFor()
  const others = main.getByRole('region', { name: 'Also new, heating up or back' })
  // Their events name no page.
  await others.getByText('New', { exact: true }).first().waitFor()
  const listed = await main.locator('.company-line-name a').allTextContents()
  assert.deepEqual(listed, [...new Set(listed)], 'each company is on the page once')
  const read = main.getByRole('region', { name: 'Pages they read' })
  await read.getByRole('link', { name: '/pricing' }).waitFor()
  assert.equal(await main.getByText('Lookups today').count(), 0, 'Settings show the plan')
  // Changes first, then companies to look at, then the rest.
  const order = [
    'Visits of companies by day',
    'Five to look at today',
    'First steps',
    'Also new, heating up or back',
    'Pages they read',
  ]
  assert.deepEqual(await main.getByRole('heading', { level: 2 }).allTextContents(), order)
  await main.getByText(/^[\d,]+ of [\d,]+ page views? .* could be named: /).click()
  await main.getByRole('link', { name: 'Received events by day and reason' }).waitFor()
  await assertAccessible()
  await main.getByRole('link', { name: /^\d+ new$/ }).click()
  await page.waitForURL(/\/companies\?when=7d&new_days=7$/)
  await page.setViewportSize({ width: 1920, height: 1080 })
  await page.goto(home)
  await five.getByRole('link', { name: 'Apple' }).waitFor()
  const cut = `[...document.querySelectorAll('.company-line *')].filter((element) => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX === 'hidden' && element.closest('.ui-hidden') === null).length`
  assert.equal(await page.evaluate<number>(cut), 0, 'names are whole')
  await five.getByRole('link', { name: 'Apple' }).click()
  await page.waitForURL(/companies\/of\?id=apple\.com/)
  await main.getByText(/^\d of 5$/).waitFor()
}

/** Which pages companies read: found by a part of the address, with the companies in place. */
async function checkPages({ page, assertAccessible }: WatchedPage, { origin, tenant }: CompaniesSite): Promise<void> {
  await page.goto(`${origin}/t/${tenant}/pages`)
  const row = page.getByRole('row').filter({ hasText: '/pricing' })
  await row.getByRole('button', { name: 'Show companies that read /pricing' }).click()
  await page.getByRole('main').getByRole('link', { name: 'Apple', exact: true }).waitFor()
  await assertAccessible()
  await page.getByLabel('Search pages').fill('no such page')
  await page.getByText('No page matches').waitFor()
  await page.getByRole('button', { name: 'Clear the search' }).click()
  await page.getByLabel('Search pages').fill('PRIC')
  await page.getByText('1 page', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Last 7 days' }).click()
  await page.getByRole('button', { name: 'Last 30 days' }).click()
  await page.waitForURL(/days=30d/)
  await page.waitForLoadState('networkidle')
  const counted = await page.getByRole('row').filter({ hasText: '/pricing' }).getByRole('cell').first().textContent()
  await page.getByRole('link', { name: '/pricing' }).click()
  await page.waitForURL(/\/companies\?.*page_is=/)
  await page
    .getByRole('status')
    .getByText(new RegExp(`^${counted} compan`))
    .waitFor()
}

/** The choice is in the URL. */
async function checkClocks(page: Page, received: string): Promise<void> {
  const choice = page.getByLabel('Count events by')
  assert.equal(await choice.inputValue(), 'received')
  await page.getByRole('heading', { name: 'Events by status, by day received' }).waitFor()
  await choice.selectOption('Day of the event')
  await page.waitForURL(/[?&]by=event/)
  for (const again of [false, true]) {
    if (again) await page.reload()
    await page.getByRole('heading', { name: 'Events kept, by day of the event' }).waitFor()
    await page.getByText('company not known', { exact: true }).first().waitFor({ state: 'attached' })
  }
  await page.goto(`${received}?by=nonsense`)
  await page.getByRole('heading', { name: 'Events by status, by day received' }).waitFor()
}

/** A failed query is an error on the page, never "no event yet". */
async function checkMissingTable(page: Page, { origin, tenant, clickhouseUrl }: CompaniesSite): Promise<void> {
  const run = async (body: string) => {
    const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body })
    assert.equal(response.status, 200, await response.text())
  }
  await run('RENAME TABLE events TO events_elsewhere')
  for (const path of ['home', 'home/received', 'pages', 'companies', 'companies/of?id=apple.com']) {
    await page.goto(`${origin}/t/${tenant}/${path}`)
    await page.getByText(/ClickHouse lacks a table of ipid/).waitFor()
    assert.equal(await page.getByText(/No event|No company/).count(), 0, path)
  }
  await page.goto(`${origin}/system`)
  await page.getByText(/ClickHouse lacks the table events: restart ipid/).waitFor()
  await run('RENAME TABLE events_elsewhere TO events')
}

async function sendEvent({ apiUrl, apiKey }: CompaniesSite): Promise<void> {
  const events = [
    {
      ip: KNOWN_IP,
      event_type: 'page_view',
      url: 'https://www.site.example/pricing?a=1',
      properties: { plan: 'pro', '<b>': "'" },
    },
  ]
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const response = await fetch(`${apiUrl}/v1/ingest`, { method: 'POST', headers, body: JSON.stringify({ events }) })
  assert.equal(response.status, 200)
}

/** Enough for a second page. */
async function storeCompanies({ clickhouseUrl, tenant }: CompaniesSite): Promise<void> {
  const sql = `INSERT INTO events
      (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, domain, industry, country_code)
    SELECT concat('198.51.100.', toString(number)), '${tenant}', concat('many-', toString(number)), now64(3) - 86400,
      now64(3) - 86400, company_id, concat('zeta-', toString(number), '.example') AS company_id,
      concat('Zeta ', toString(number)), company_id, ['Tools', 'Toys'][1 + number % 2], 'DE'
    FROM numbers(${MANY})`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: sql })
  assert.equal(response.status, 200, await response.text())
}

/** Empties the search in the moment in which the URL takes up the typed text: later typing must win. */
const CLEAR_SEARCH_ONCE_IN_URL = `
  const replace = history.replaceState
  history.replaceState = function (...args) {
    replace.apply(this, args)
    if (!String(args[2]).includes('q=jk')) return
    history.replaceState = replace
    const field = document.querySelector('input[type=search]')
    field.value = ''
    field.dispatchEvent(new InputEvent('input', { bubbles: true }))
  }`

/** New companies wait until the reader asks for them. Keys reach the search and the rows. */
async function checkFrozenOrder(page: Page): Promise<void> {
  const rows = page.locator('tbody tr[data-row]')
  const more = page.getByRole('button', { name: '49 newer, show' })
  await more.waitFor()
  assert.equal(await rows.count(), 1, 'no row appears by itself')
  await more.click()
  await rows.nth(49).waitFor()
  await more.waitFor({ state: 'detached' })
  await page.evaluate(CLEAR_SEARCH_ONCE_IN_URL)
  await page.keyboard.press('/')
  // Before the keys: on a slow machine the URL has the text, and has lost it, when the last key arrives.
  const taken = page.waitForURL(/q=jk/)
  await page.keyboard.type('jk?')
  await taken
  await page.waitForURL((url) => !url.searchParams.has('q'))
  assert.equal(await page.getByLabel('Search').inputValue(), '')
  await rows.nth(49).waitFor()
  await page.getByLabel('Search').blur()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('j')
  assert.equal(
    await page.evaluate('document.activeElement.textContent'),
    await rows.first().getByRole('link').textContent(),
  )
}

/** Rows stay where they are while events arrive, so a click opens the company that was aimed at. */
async function checkClickWhileEventsArrive(
  page: Page,
  { origin, clickhouseUrl, tenant }: CompaniesSite,
): Promise<void> {
  await page.goto(`${origin}/t/${tenant}/companies`)
  const rows = page.locator('tbody tr[data-row]')
  const aimed = rows.nth(3).getByRole('link')
  const name = (await aimed.textContent())!
  const box = (await aimed.boundingBox())!
  const sql = `INSERT INTO events
      (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name)
    SELECT '192.0.2.9', '${tenant}', concat('late-', toString(number)), now64(3), now64(3),
      concat('late-', toString(number)) AS company_id, company_id, concat('Late ', toString(number)) FROM numbers(5)`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: sql })
  assert.equal(response.status, 200, await response.text())
  await page.getByText(`${MANY + 9} companies`).waitFor()
  await page.getByRole('button', { name: '5 newer, show' }).waitFor()
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}

/** The selection is in the URL: it survives a reload, and the back button undoes it. */
async function checkView(page: Page, { origin, tenant }: CompaniesSite): Promise<void> {
  const rows = page.locator('tbody tr[data-row]')
  const shows = (text: string) => page.getByRole('navigation', { name: 'Pages of companies' }).getByText(text).waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await shows(`51–100 of ${MANY + 1}`)
  assert.match(page.url(), /[?&]page=2/)
  await page.goBack()
  await shows(`1–50 of ${MANY + 1}`)

  await page.getByLabel('Search').fill('ZETA 11')
  await page.getByText('11 companies').waitFor()
  await page.getByRole('search').getByRole('button', { name: 'Industry' }).click()
  // The counts follow the search.
  const toys = page.getByRole('checkbox', { name: 'Toys 6' })
  await toys.waitFor({ timeout: CHOICES_SHOWN_MS })
  await toys.check()
  await page.getByText('6 companies').waitFor()
  await page.getByRole('checkbox', { name: 'Tools 5' }).check()
  await page.getByText('11 companies').waitFor()
  await page.waitForURL(/industry=Toys&industry=Tools/)
  await page.getByRole('checkbox', { name: 'Tools 5' }).uncheck()
  await page.keyboard.press('Escape')
  await page.getByText('6 companies').waitFor()
  await page.getByRole('button', { name: 'Company', exact: true }).click()
  await page.waitForURL(/sort=name&dir=asc/)
  await page.getByText('Columns', { exact: true }).click()
  await page.getByRole('checkbox', { name: 'Domain' }).uncheck()
  await page.waitForURL(/hide=domain/)
  const shared = page.url()
  await page.goto(`${origin}/t/${tenant}/companies`)
  await page.goto(shared)
  await page.getByText('6 companies').waitFor()
  assert.equal(await page.getByText('zeta-11.example').count(), 0)
  assert.equal(await page.getByRole('columnheader', { name: 'Company' }).getAttribute('aria-sort'), 'ascending')
  assert.deepEqual(
    await rows.locator('th a').allTextContents(),
    [11, 111, 113, 115, 117, 119].map((n) => `Zeta ${n}`),
  )

  await checkNoMatch(page)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await shows(`1–50 of ${MANY + 1}`)
}

/** Filters that leave nothing are named, with what is left without each; one click removes one. On a phone they are folded. */
async function checkNoMatch(page: Page): Promise<void> {
  const main = page.getByRole('main')
  await page.getByLabel('Search').fill('ZETA 11')
  await page.getByText('6 companies').waitFor()
  await page.getByLabel('Search').fill('%')
  await page.getByText('No company matches').waitFor()
  await main.getByText(/^\d+ companies without it$/).waitFor()
  await main.getByRole('button', { name: 'Remove Industry: Toys' }).waitFor()
  await main.getByText('still none').waitFor()
  await main.getByRole('button', { name: 'Remove Search: %' }).click()
  await page.waitForURL((url) => !url.searchParams.has('q') && url.searchParams.get('industry') === 'Toys')
  const size = page.viewportSize()!
  await page.setViewportSize({ width: 390, height: 844 })
  const industry = main.getByRole('search').getByRole('button', { name: 'Industry: Toys' })
  assert.equal(await industry.isVisible(), false)
  await main.getByRole('button', { name: 'Filters 1' }).click()
  await industry.waitFor()
  await main.getByRole('button', { name: 'Filters 1' }).click()
  await industry.waitFor({ state: 'hidden' })
  await page.setViewportSize(size)
  await industry.waitFor()
}

/** Several companies are hidden and tagged at once, and a filter of the menu finds them again. */
async function checkBulk({ page, assertAccessible }: WatchedPage, { origin, tenant }: CompaniesSite): Promise<void> {
  await page.goto(`${origin}/t/${tenant}/companies?q=zeta%2011&sort=name&dir=asc`)
  await page.getByText('11 companies').waitFor()
  await page.getByRole('checkbox', { name: 'Choose Zeta 110' }).check()
  await page.getByRole('checkbox', { name: 'Choose Zeta 111' }).check()
  await page.getByText('2 companies chosen').waitFor()
  await assertAccessible()
  await page.getByRole('button', { name: 'Hide', exact: true }).click()
  await page.getByText('9 companies').waitFor()
  await page.getByText('Zeta 110 and Zeta 111 are hidden.').waitFor()
  await page.getByRole('row').filter({ hasText: 'Zeta 111' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Hidden companies' }).click()
  await page.getByRole('button', { name: 'only these' }).click()
  await page.getByText('2 companies', { exact: true }).waitFor()
  await page.waitForURL(/hidden=only/)
  await page.getByRole('checkbox', { name: 'Choose all rows of this page' }).check()
  await page.getByRole('button', { name: 'Show again' }).click()
  await page.getByText('No company matches').waitFor()
  await page.getByRole('button', { name: 'Clear Hidden companies' }).click()
  await page.getByText('11 companies').waitFor()

  await page.getByRole('checkbox', { name: 'Choose Zeta 112' }).check()
  await page.getByRole('checkbox', { name: 'Choose Zeta 113' }).check()
  await page.getByRole('button', { name: 'Add tags' }).click()
  await page.getByRole('textbox', { name: 'Tags' }).fill('toy fair')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Zeta 112 and Zeta 113 were tagged.').waitFor()
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Tag', exact: true }).click()
  await page.getByRole('checkbox', { name: 'toy fair 2' }).check()
  await page.keyboard.press('Escape')
  await page.getByText('2 companies', { exact: true }).waitFor()
  await page.waitForURL(/tag=toy\+fair/)
}

async function checkExport(page: Page): Promise<void> {
  await page.getByLabel('Search').fill('zeta 5')
  await page.getByText('11 companies').waitFor()
  await page.getByText('Columns', { exact: true }).click()
  await page.getByRole('checkbox', { name: 'Domain' }).uncheck()
  await page.waitForURL(/hide=domain/)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export CSV' }).click(),
  ])
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
  assert.equal(lines.length, 12)
  assert.match(lines[0]!, /^\ufeffCompany,Events,Visits,Heat,Last seen,Industry,/)
  assert.ok(lines.slice(1).every((line) => line.startsWith('Zeta 5')))
  for (const nth of [0, 2])
    await page
      .getByRole('checkbox', { name: /^Choose Zeta 5/ })
      .nth(nth)
      .check()
  const [chosen] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV (2 chosen)' }).click(),
  ])
  assert.equal(chosen.suggestedFilename(), download.suggestedFilename())
  assert.match(chosen.suggestedFilename(), /^companies-.+-(\d{4}-\d\d-\d\d-to|until)-\d{4}-\d\d-\d\d\.csv$/)
  const few = (await readFile(await chosen.path(), 'utf8')).trimEnd().split('\r\n')
  assert.deepEqual(few, [lines[0], lines[1], lines[3]])
  await page.getByRole('button', { name: 'Clear choice' }).click()
}

async function checkCompany({ page, assertAccessible }: WatchedPage, companies: string): Promise<void> {
  const [, tenant] = /\/t\/([^/]+)/.exec(companies)!
  await page.goto(`${companies}?q=apple`)
  await page.getByRole('row').filter({ hasText: 'apple.com' }).getByRole('link').click()
  await page.getByRole('heading', { name: 'Why this company' }).waitFor()
  await page.locator('.ui-chart canvas').waitFor()
  // A bar of one visit would be as high as the chart.
  await page.getByText('One visit a day, on 1 of 30 days.').waitFor()
  const sessions = page.getByRole('region', { name: 'Sessions', exact: true })
  await sessions.getByText('/pricing').first().click()
  await sessions.getByRole('row').filter({ hasText: 'site.example/pricing' }).getByText('page_view').waitFor()
  await page.getByRole('region', { name: 'Top pages' }).getByRole('link', { name: '/pricing' }).waitFor()
  const why = page.getByRole('region', { name: 'Why this company' })
  await why.getByText(/^Its most frequent address, 17\.253\.144\.10, is in 17\..* gives to Apple\.$/).waitFor()
  await why.getByText('Proof', { exact: true }).click()
  const values = page.getByRole('region', { name: 'Where each value comes from' })
  await values.getByRole('row').filter({ hasText: 'business_name' }).getByText('Apple').waitFor()
  await page.getByText('Raw events: the newest, as they were sent').click()
  await page.getByRole('list', { name: 'Raw events' }).locator('summary').first().click()
  await page.getByText('"plan": "pro"').waitFor()
  await assertAccessible()
  assert.equal(await page.title(), `Apple · ${tenant} · ipid`)
  await checkCorrections(page)
  await assertAccessible()
  await page.getByRole('main').getByRole('link', { name: 'Companies' }).click()
  await page.waitForURL(/q=apple/)
  await page.goBack()
  await page.goBack()
  await page.getByText('1 company').waitFor()
}

/** A person hides, notes and renames a company, and takes it back in the same place. */
async function checkCorrections(page: Page): Promise<void> {
  const main = page.getByRole('main')
  await main.getByRole('button', { name: 'Hide', exact: true }).click()
  await main.getByText('This company is hidden').waitFor()
  await page.getByRole('button', { name: 'Undo', exact: true }).first().click()
  await main.getByText('This company is hidden').waitFor({ state: 'hidden' })
  const choose = async (entry: string) => {
    await main.getByRole('button', { name: 'Edit company', exact: true }).click()
    await page.getByRole('menuitem', { name: entry }).click()
  }
  await main.getByRole('button', { name: 'Add note' }).click()
  await page.getByRole('textbox', { name: 'Note' }).fill('Met them at the fair')
  await page.getByRole('button', { name: 'Save' }).click()
  await main.getByText('Met them at the fair').waitFor()
  await main.getByRole('button', { name: 'Add tags' }).click()
  await page.getByRole('textbox', { name: 'Tags' }).fill('key account, fair')
  await page.getByRole('button', { name: 'Save' }).click()
  await main.getByRole('button', { name: /key account.*\(edit tags\)/ }).waitFor()
  await main.getByText('History of corrections').click()
  const note = main.getByRole('listitem').filter({ hasText: 'note: Met them at the fair' })
  await note.getByRole('button', { name: 'Undo' }).click()
  await main.getByText('Met them at the fair', { exact: true }).waitFor({ state: 'hidden' })
  await choose('It is not them…')
  await page.getByRole('dialog').getByLabel('What is wrong?').selectOption('us')
  await page.getByRole('dialog').getByLabel('Network').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
}

/** A person makes a company of a doubtful name, and takes that back. */
async function checkUnknown(
  { page, assertAccessible }: WatchedPage,
  { origin, clickhouseUrl, tenant }: CompaniesSite,
): Promise<void> {
  const sql = `INSERT INTO events
      (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, asn, as_name, business_name, country_code)
    SELECT concat('198.51.100.', toString(number)), '${tenant}', concat('doubt-', toString(number)), now64(3), now64(3), '', '',
      64500 + number, ['Kibo Systems Ltd', ''][1 + number], ['Kibo Systems', ''][1 + number], 'DE'
    FROM numbers(2)`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: sql })
  assert.equal(response.status, 200, await response.text())
  await page.goto(`${origin}/t/${tenant}/companies`)
  await page.getByRole('link', { name: '2 visits in 30 days have no company' }).click()
  const main = page.getByRole('main')
  await main.getByText('2 visits from 2 networks').waitFor()
  await main.getByRole('row').filter({ hasText: 'AS64501' }).getByText('name left out').waitFor()
  await assertAccessible()
  const make = main.getByRole('button', { name: 'Make it a company…: AS64500 Kibo Systems Ltd' })
  await make.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await assertAccessible()
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'Kibo Systems')
  await dialog.getByLabel('Applies to').selectOption('New visits only')
  await dialog.getByLabel('Name').fill('Kibo Works')
  await page.keyboard.press('Enter')
  await main.getByRole('link', { name: 'New visits have a company' }).waitFor()
  await page.getByText('AS64500 is Kibo Works from now on.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await make.waitFor()
  await main.getByLabel('Why there is no company').selectOption('Kept by a rule')
  await main.getByText('No such visit on these days').waitFor()
}

/** A person says that a company is an access provider: its past is hidden, the rule is listed, and its removal shows the past again. */
async function checkNotThem(
  { page, assertAccessible }: WatchedPage,
  { origin, clickhouseUrl, tenant }: CompaniesSite,
): Promise<void> {
  const sql = `INSERT INTO events
      (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, domain, business_name)
    SELECT '192.0.2.9', '${tenant}', 'wrong', now64(3), now64(3), 'wrong.example', 'wrong.example', 'wrong.example', 'Wrong Net'`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: sql })
  assert.equal(response.status, 200, await response.text())
  await page.goto(`${origin}/t/${tenant}/companies/of?id=wrong.example`)
  const main = page.getByRole('main')
  await main.getByRole('button', { name: 'Edit company', exact: true }).click()
  await page.getByRole('menuitem', { name: 'It is not them…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Hides 1 company, with 1 visit').waitFor()
  await dialog.getByText('Wrong Net: 1 visit, no visible event is left').waitFor()
  await assertAccessible()
  await dialog.getByRole('button', { name: 'Make the rule and hide visits' }).click()
  await main.getByText(/^Stored visits (will be|are being) updated$/).waitFor()
  await assertAccessible()
  await main.getByText('1 visit is hidden').waitFor()
  await main.getByText('No event of this company is shown').waitFor()
  await main.getByText('History of corrections and rules').click()
  await main
    .getByRole('listitem')
    .filter({ hasText: '1 event hidden, by the rule always-noise wrong.example' })
    .waitFor()
  await page.goto(`${origin}/t/${tenant}/companies?q=Wrong%20Net`)
  await page.getByRole('row').filter({ hasText: 'wrong.example' }).waitFor({ state: 'hidden' })
  await page.goto(`${origin}/t/${tenant}/settings/rules`)
  await page.getByRole('button', { name: 'Remove always-noise wrong.example' }).waitFor()
  await page.getByText('Stored visits are up to date').waitFor()
  await page.getByRole('button', { name: 'Delete hidden visits: always-noise wrong.example' }).click()
  await page.getByRole('dialog').getByText('This cannot be undone').waitFor()
  await assertAccessible()
  await page.getByRole('button', { name: 'Keep it' }).click()
  await page.getByRole('button', { name: 'Remove always-noise wrong.example' }).click()
  await page
    .getByRole('dialog')
    .getByText('The visits that it hides, 1 event, are shown again, with all their numbers.')
    .waitFor()
  await assertAccessible()
  await page.getByRole('button', { name: 'Remove rule' }).click()
  await page.getByText('1 hidden visit is shown again').waitFor()
  await page.goto(`${origin}/t/${tenant}/companies?q=Wrong%20Net`)
  await page.getByRole('row').filter({ hasText: 'wrong.example' }).waitFor()
}

/** Ids stay ids in a path and in a query, whatever they contain. */
async function checkOddIds({ page }: WatchedPage, { origin, clickhouseUrl, tenant }: CompaniesSite): Promise<void> {
  const ids = ['as:64500', 'odd/%41 100%+ü&?#']
  for (const [i, id] of ids.entries()) {
    const quoted = `'${id}'`
    const sql = `INSERT INTO events
        (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name)
      SELECT '192.0.2.9', '${tenant}', 'odd-${i}', now64(3), now64(3), ${quoted}, ${quoted}, 'Odd ${i}'`
    const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: sql })
    assert.equal(response.status, 200, await response.text())
    await page.goto(`${origin}/t/${tenant}/companies?q=Odd%20${i}`)
    await page.getByRole('link', { name: `Odd ${i}` }).click()
    for (const again of [false, true]) {
      if (again) await page.reload()
      await page.getByRole('heading', { name: `Odd ${i}` }).waitFor()
      await page.getByText('Type, quality and id').click()
      await page.getByText(id, { exact: true }).first().waitFor()
    }
  }
}

/** Links, keys and addresses that lead to another page, or nowhere. */
async function checkWays(page: Page, { origin, tenant }: CompaniesSite): Promise<void> {
  const at = (path: string) => `${origin}/t/${tenant}/${path}`
  await page.goto(at('companies'))
  const last = page.locator('tbody tr[data-row]').last()
  await last.scrollIntoViewIfNeeded()
  await last.getByRole('link').click()
  await page.getByRole('heading', { level: 1, name: /Zeta/ }).waitFor()
  const arrived = await page.evaluate('[scrollY, document.activeElement.id]')
  assert.deepEqual(arrived, [0, 'content'], 'a page begins at its top, and has the focus')

  await page.goto(at('companies?page=99&from=x'))
  await page.getByRole('button', { name: 'Show the first page' }).click()
  await page.getByText('Columns', { exact: true }).click()
  await page.getByRole('checkbox', { name: 'Domain' }).focus()
  await page.keyboard.press('Escape')
  await page.getByRole('checkbox', { name: 'Domain' }).waitFor({ state: 'hidden' })

  await page.clock.install()
  const failure = { status: 503, json: { detail: 'the answer took too long' } }
  await page.route(
    '**/companies?*',
    (route) => (route.request().isNavigationRequest() ? route.continue() : route.fulfill(failure)),
    { times: 2 },
  )
  await page.goto(at('companies?q=zeta'))
  await page.getByText('The answer took too long.').waitFor()
  await page.clock.fastForward(10_000)
  await page.getByRole('navigation', { name: 'Pages of companies' }).getByText(`of ${MANY}`).waitFor()

  await page.goto(`${origin}/t/nobody/home`)
  await page.getByRole('heading', { level: 1, name: 'There is no workspace nobody' }).waitFor()
  await page.getByRole('link', { name: 'Back to the start' }).click()
  await page.waitForURL(at('home'))
  await page.goto(at('home/received'))
  await page.locator('.ui-chart .u-over').first().hover()
  await page.locator('.ui-chart-note').waitFor()
}

/** A phone scrolls tables, never the page. */
async function checkNarrow(page: Page, urls: readonly string[]): Promise<void> {
  const size = page.viewportSize()!
  await page.setViewportSize({ width: 360, height: 740 })
  for (const url of urls) {
    await page.goto(url)
    await page.locator('.company-lines:visible, .ui-stats:visible, .ui-table:visible').first().waitFor()
    assert.ok((await page.getByRole('banner').boundingBox())!.height < 60, 'the head is one line')
    const width = await page.evaluate('document.documentElement.scrollWidth')
    assert.ok((width as number) <= 360, `${url} is ${width} wide`)
  }
  await checkDrawer(page)
  await page.setViewportSize(size)
}

/** The sidebar of a small screen opens over the page, keeps the focus, and gives it back. */
async function checkDrawer(page: Page): Promise<void> {
  const menu = page.getByRole('button', { name: 'Menu', exact: true })
  const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Companies' })
  assert.equal(await link.isVisible(), false)
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  await menu.focus()
  await page.keyboard.press('Enter')
  await link.waitFor()
  // The focus moves after the drawer is drawn.
  await page.locator('#sidebar :focus').waitFor()
  await page.keyboard.press('Escape')
  await link.waitFor({ state: 'hidden' })
  await page.locator('[aria-label="Menu"]:focus').waitFor()
  await menu.click()
  await link.click()
  await page.getByRole('heading', { name: 'Companies', level: 1 }).waitFor()
  await link.waitFor({ state: 'hidden' })
  await page.locator('#content:focus').waitFor()
}
