import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Request } from 'playwright-core'
import { sharedChromium } from '../support/chromium.ts'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { until } from '../support/until.ts'

/* Lists of the dashboard: the choice, the reader's place, the language, and narrow screens. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'places'
const COMPANIES = 70

test('a list keeps the place of its reader, and its selection belongs to its search', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  await ran(shared, 'tenant', 'create', TENANT)
  await storeCompanies(shared.ready.tables_url)
  // The texts are English, whatever the language of the browser.
  const options = { locale: 'de-DE', timezoneId: 'Europe/Berlin' }
  const watched = await openAsMember(t, browser, shared, { tenant: TENANT, name: 'Mia', ...options })
  const { page, assertAccessible, assertClean } = watched
  const at = (path: string) => `${shared.origin}/t/${TENANT}/${path}`
  const main = page.getByRole('main')
  const status = (text: RegExp | string) => main.getByRole('status').getByText(text).waitFor()
  const holds = (script: string) =>
    until(
      () => page.evaluate<boolean>(script),
      (is) => is,
    )
  const link = (number: number) => main.getByRole('link', { name: nameOf(number), exact: true })

  await t.test('numbers, dates and countries are in the language of the text', async () => {
    await page.goto(at('companies'))
    const row = page.getByRole('row').filter({ hasText: nameOf(1) })
    await row.getByText('1,234', { exact: true }).waitFor()
    await row.getByText(/^\d+ minutes? ago$/).waitFor()
    await row.getByText('Germany').waitFor()
    for (const path of [
      'home',
      'pages',
      'companies',
      'home/received',
      'companies/of?id=c1.example',
      'alerts/new',
      'exports',
      'settings',
      'live',
    ]) {
      await page.goto(at(path))
      await page.waitForLoadState('networkidle')
      const texts = await page.evaluate<string>(
        `document.body.textContent + [...document.querySelectorAll('[title]')].map(({ title }) => title).join(' ')`,
      )
      const german =
        /\bvor \d|gestern|Deutschland|\bMio\.|(?<![\d.])\d{1,3}\.\d{3}(?![\d.])|\d,\d+\s?%|\d\s%|\d\. (?:Nov|Dez|Okt)/
      assert.equal(german.exec(texts)?.[0], undefined, path)
    }
  })

  await t.test('a choice ends with the search that it was made in', async () => {
    await page.goto(at('companies?sort=name&dir=asc'))
    await main.getByRole('checkbox', { name: `Choose ${nameOf(1)}`, exact: true }).check()
    await main.getByRole('checkbox', { name: `Choose ${nameOf(2)}`, exact: true }).check()
    await status('2 companies chosen')
    await main.getByRole('button', { name: 'Next' }).click()
    await link(60).waitFor()
    await status('2 companies chosen, 2 on other pages')
    await main.getByRole('checkbox', { name: `Choose ${nameOf(60)}`, exact: true }).check()
    await status('3 companies chosen, 2 on other pages')
    await main.getByLabel('Search').fill('Company 06')
    await status('10 companies')
    assert.equal(await main.getByRole('button', { name: 'Hide', exact: true }).count(), 0)
    assert.equal(await main.getByRole('checkbox', { checked: true }).count(), 0)
  })

  await t.test('filters that leave nothing are counted when typing rests, and old counts are cancelled', async (t) => {
    const { page, assertClean } = await openAsMember(t, browser, shared, { tenant: TENANT, name: 'Noa' })
    const main = page.getByRole('main')
    const counts = { asked: [] as string[], cancelled: [] as string[] }
    const note = (list: string[]) => (request: Request) => {
      const { pathname, searchParams } = new URL(request.url())
      if (pathname.endsWith('/companies') && searchParams.get('limit') === '1') {
        list.push(searchParams.get('search') ?? '')
      }
    }
    page.on('request', note(counts.asked))
    page.on('requestfailed', note(counts.cancelled))
    await page.clock.install()
    await page.goto(at('companies?visits=900&visits_max=0&q=none'))
    // The label of both is Visits.
    const [least, most] = ['at least 900', 'at most 0'].map((words) =>
      main.getByRole('button', { name: `Remove Visits: ${words}` }),
    )
    await least!.waitFor()
    await most!.waitFor()
    await until(async () => (await main.getByText('still none').count()) === 3)
    // From here on the test moves the clock.
    await page.clock.pauseAt(Date.now() + 60_000)
    const types = async (text: string) => {
      await main.getByRole('searchbox', { name: 'Search' }).fill(text)
      await page.clock.runFor(400)
      await main.getByRole('button', { name: `Remove Search: ${text}`, exact: true }).waitFor()
    }
    const rests = () => page.clock.runFor(1_000)
    // The count without the search stays as it is, whatever is typed.
    const holdsBoth = (list: readonly string[], text: string) => until(() => isDeepStrictEqual(list, [text, text]))
    counts.asked.length = 0
    for (const text of ['a', 'ab', 'abc']) await types(text)
    assert.deepEqual(counts.asked, [])
    assert.equal(await main.getByText('still none').count(), 1, 'no count of an earlier text')
    // Counts that take long.
    await page.route('**/companies?*limit=1', () => {})
    await rests()
    await holdsBoth(counts.asked, 'abc')
    await types('abcd')
    await holdsBoth(counts.cancelled, 'abc')
    await page.unroute('**/companies?*limit=1')
    counts.asked.length = 0
    await rests()
    await holdsBoth(counts.asked, 'abcd')
    await until(async () => (await main.getByText('still none').count()) === 3)
    await least!.click()
    await least!.waitFor({ state: 'detached' })
    await most!.waitFor()
    assertClean()
  })

  await t.test('back returns to the row that was opened', async () => {
    for (const [width, height] of [
      [1440, 900],
      [1024, 700],
      [390, 800],
    ] as const) {
      await page.setViewportSize({ width, height })
      for (const way of ['key', 'link'] as const) {
        await page.goto(at('companies?sort=name&dir=asc'))
        await link(1).waitFor()
        await link(45).scrollIntoViewIfNeeded()
        // Rows above it may grow until the click.
        await page.evaluate(
          `addEventListener('click', () => { topAtClick = ${topOf(45)} }, { capture: true, once: true })`,
        )
        // Anywhere in the row.
        if (width === 1440)
          await main
            .getByRole('row')
            .filter({ hasText: nameOf(45) })
            .getByRole('cell')
            .nth(2)
            .click()
        else await link(45).click()
        await page.getByRole('heading', { level: 1, name: nameOf(45) }).waitFor()
        if (way === 'key') await page.goBack()
        else await main.getByRole('link', { name: 'Companies', exact: true }).click()
        await page.waitForURL(/sort=name/)
        await holds(`document.activeElement?.textContent === ${JSON.stringify(nameOf(45))}`)
        await holds(`Math.abs(${topOf(45)} - topAtClick) < 40`)
      }
    }
    // A click on another link begins at the top.
    await page.setViewportSize({ width: 1440, height: 900 })
    await link(45).click()
    await page.getByRole('heading', { level: 1, name: nameOf(45) }).waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'Companies', exact: true }).click()
    await link(1).waitFor()
    await holds('scrollY === 0 && document.activeElement.id === "content"')
  })

  await t.test('a company leads to the next one of its list, also after a reload', async () => {
    const shows = (number: number) => page.getByRole('heading', { level: 1, name: nameOf(number) }).waitFor()
    const [next, previous] = ['Next company (j)', 'Previous company (k)'].map((name) =>
      main.getByRole('button', { name }),
    )
    await page.goto(at('companies?sort=name&dir=asc&page=2'))
    await link(69).click()
    await shows(69)
    await status('69 of 70')
    await assertAccessible()
    await next!.click()
    await shows(70)
    assert.equal(await next!.isDisabled(), true)
    await page.keyboard.press('k')
    await page.keyboard.press('k')
    await shows(68)
    await page.reload()
    await shows(68)
    await main.getByText('90 days', { exact: true }).click()
    await page.waitForURL(/days=90/)
    await page.keyboard.press('j')
    await shows(69)
    await page.waitForURL(/days=90/)
    await previous!.click()
    await shows(68)
    // The list goes on where its page ends.
    await page.goto(at('companies?sort=name&dir=asc'))
    await link(50).click()
    await status('50 of 70')
    await next!.click()
    await shows(51)
    await status('51 of 70')
    await page.keyboard.press('k')
    await shows(50)
    await page.keyboard.press('j')
    await shows(51)
    await page.goto(at('companies?sort=name&dir=asc&page=2'))
    await link(68).click()
    await shows(68)
    await page.reload()
    await shows(68)
    await page.goBack()
    await page.waitForURL(/page=2/)
    await link(68).waitFor()
    await page.goto(at('companies/of?id=c68.example'))
    await shows(68)
    assert.equal(await next!.count(), 0, 'it was not opened from a list')
  })

  await t.test('Ctrl+K goes to a page or a company by its name', async () => {
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Page, segment or company' })
    await field.fill('aler')
    await page.getByRole('option', { name: 'Alerts' }).waitFor()
    await assertAccessible()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/alerts$/)
    await page.getByRole('button', { name: /^Go to/ }).click()
    await field.fill('c45.exam')
    await page.getByRole('option', { name: nameOf(45) }).click()
    await page.getByRole('heading', { level: 1, name: nameOf(45) }).waitFor()
  })

  await t.test('Pages remembers which readers were open', async () => {
    await page.goto(at('pages'))
    await main.getByRole('button', { name: 'Show companies that read /pricing' }).click()
    await link(1).click()
    await page.getByRole('heading', { level: 1, name: nameOf(1) }).waitFor()
    await status('1 of 70')
    await page.goBack()
    await link(1).waitFor()
  })

  await t.test('a company of Pages, Home and Alerts leads to the next one, also after a reload', async () => {
    // The id stands there until the name is known.
    const heading = () =>
      until(
        () => page.getByRole('heading', { level: 1 }).textContent(),
        (text) => text?.includes('Company') === true,
      )
    const [next, previous] = ['Next company (j)', 'Previous company (k)'].map((name) =>
      main.getByRole('button', { name }),
    )
    // Readers go on where their part of 50 ends.
    const readers = main.getByRole('listitem').getByRole('link', { name: /^Company/ })
    await readers.nth(49).click()
    await status('50 of 70')
    const fiftieth = await heading()
    await next!.click()
    await status('51 of 70')
    await page.reload()
    await status('51 of 70')
    await previous!.click()
    await status('50 of 70')
    assert.equal(await heading(), fiftieth)

    await page.goto(at('home'))
    await main
      .getByRole('listitem')
      .getByRole('link', { name: /^Company/ })
      .first()
      .click()
    await status(/^1 of \d$/)
    const first = await heading()
    await next!.click()
    await status(/^2 of \d$/)
    await page.reload()
    await status(/^2 of \d$/)
    await page.keyboard.press('k')
    await status(/^1 of \d$/)
    assert.equal(await heading(), first)

    await page.goto(at('alerts/new'))
    await main
      .getByRole('link', { name: /^Company/ })
      .first()
      .click()
    await status(/^1 of \d$/)
    await next!.click()
    await status(/^2 of \d$/)
  })

  await t.test('Channels says what brought companies, and leads to exactly these', async () => {
    await page.goto(at('pages?days=30d'))
    await main.getByRole('link', { name: 'Channels' }).click()
    await page.waitForURL(/\/pages\/channels\?days=30d$/)
    await main.getByText('70 companies', { exact: true }).waitFor()
    await main.getByText('No company came by a campaign').waitFor()
    await main.getByText('Last touch', { exact: true }).click()
    await page.waitForURL(/touch=last/)
    await main.getByText('The last touch is what brought a company most recently').waitFor()
    await assertAccessible()
    await main.getByRole('link', { name: 'Direct' }).click()
    await main.getByRole('button', { name: 'Last touch: Direct' }).waitFor()
    await status('70 companies')
    await link(1).click()
    const facts = main.getByRole('definition').filter({ has: page.getByRole('link', { name: 'Direct' }) })
    await facts.nth(1).waitFor()
    assert.equal(await facts.count(), 2)
    // Why it was recognised comes before its chart.
    const headings = await main.getByRole('heading', { level: 2 }).allTextContents()
    assert.deepEqual(
      headings.slice(0, 3).map((text) => text.slice(0, 16)),
      ['What it is', 'Why this company', 'Visits and event'],
    )
  })

  await t.test('the numbers of a company are in view on a small laptop, and a phone sorts', async () => {
    await page.setViewportSize({ width: 1024, height: 768 })
    await page.goto(at('companies'))
    await link(1).waitFor()
    for (const name of ['Visits', 'Last seen']) {
      const box = (await main.getByRole('columnheader', { name, exact: true }).boundingBox())!
      const frame = (await main.getByRole('region', { name: 'Companies' }).boundingBox())!
      assert.ok(box.x + box.width <= frame.x + frame.width, `${name} is cut`)
    }
    await page.setViewportSize({ width: 390, height: 844 })
    const names = () => main.locator('tbody tr[data-row] th a').allTextContents()
    await main.getByRole('combobox', { name: 'Sort by' }).selectOption('Company')
    await page.waitForURL(/sort=name&dir=asc/)
    await holds(`document.querySelector('tbody tr[data-row] th a').textContent === ${JSON.stringify(nameOf(1))}`)
    await main.getByRole('button', { name: 'Ascending order: reverse it' }).click()
    await page.waitForURL(/sort=name&dir=desc/)
    await holds(
      `document.querySelector('tbody tr[data-row] th a').textContent === ${JSON.stringify(nameOf(COMPANIES))}`,
    )
    assert.equal((await names())[0], nameOf(COMPANIES))
    await assertAccessible()
    await page.goto(at('pages'))
    await main.getByRole('combobox', { name: 'Sort by' }).selectOption('Events')
    await page.waitForURL(/sort=events/)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
    await page.setViewportSize({ width: 1440, height: 900 })
    await main.getByRole('combobox', { name: 'Sort by' }).waitFor({ state: 'detached' })
  })
  assertClean()
})

const nameOf = (number: number) => `Company ${String(number).padStart(3, '0')}`

/** Where the link of a company is in the window, in pixels. */
/** An expression of the page: how far below the top of the window the link of a company is. */
const topOf = (number: number) =>
  `[...document.querySelectorAll('tbody a')].find((a) => a.textContent === ${JSON.stringify(nameOf(number))}).getBoundingClientRect().top`

async function storeCompanies(clickhouseUrl: string): Promise<void> {
  const body = `
    INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, domain, industry, country_code, extra)
    SELECT '198.51.100.1', '${TENANT}', concat('list-', toString(number)), now64(3) - 300, now64(3) - 300, id, id,
      concat('Company ', leftPad(toString(n), 3, '0')), id, 'Software', 'DE', '{"url":"https://site.example/pricing"}'
    FROM (SELECT number, if(number < ${COMPANIES}, number + 1, 1) AS n, concat('c', toString(n), '.example') AS id FROM numbers(${COMPANIES} + 1233))`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body })
  assert.equal(response.status, 200, await response.text())
}
