import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'

/* Heat as a person sees it: sorted, filtered, explained, and by the intent pages of the tenant. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'heat'
const WIDE = { width: 1440, height: 900 }

test('heat sorts, filters and says why, and intent pages move it at once', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, origin } = shared
  const run = (...args: string[]) => ran(shared, ...args)
  await run('tenant', 'create', TENANT)
  await storeVisits(ready.tables_url)
  const { page, assertAccessible, assertClean } = await openAsMember(t, browser, shared, {
    tenant: TENANT,
    name: 'Mia',
    viewport: WIDE,
  })
  const main = page.getByRole('main')
  await main.getByRole('heading', { name: 'Home', level: 1 }).waitFor()
  const names = () => main.locator('tbody tr[data-row] th a').allTextContents()
  const heatOf = (name: string) => main.getByRole('row').filter({ hasText: name }).getByRole('note')
  const open = (path: string) => page.goto(`${origin}/t/${TENANT}/${path}`)

  await t.test('the column is shown by default, and all columns fit', async () => {
    await open('companies')
    await heatOf('Keen').getByText('58').waitFor()
    const table = main.getByRole('region', { name: 'Companies' })
    assert.equal(await table.evaluate((element) => element.scrollWidth > element.clientWidth), false)
    await assertAccessible()
  })

  await t.test('a click on its heading sorts, the hottest first', async () => {
    await main.getByRole('button', { name: /^Heat/ }).click()
    await page.waitForURL(/sort=heat/)
    await main.getByRole('columnheader', { name: /^Heat/ }).and(main.locator('[aria-sort="descending"]')).waitFor()
    await main.getByRole('row').nth(1).filter({ hasText: 'Rising' }).waitFor()
    assert.deepEqual(await names(), ['Rising', 'Keen', 'Calm', 'Cold'])
  })

  await t.test('why: on hover, and with the keyboard, until Escape', async () => {
    const why = page.getByRole('tooltip')
    await heatOf('Keen').hover()
    assert.equal(
      await why.textContent(),
      'Heat 58 of 100, in the higher half of your companiesSeen today+30On 2 of 30 days+121 event a day+3Intent pages on 2 days+13',
    )
    await page.mouse.move(0, 0)
    await why.waitFor({ state: 'detached' })
    await main.getByRole('link', { name: 'Calm' }).focus()
    await page.keyboard.press('Tab')
    assert.equal(await heatOf('Calm').evaluate((element) => element === element.ownerDocument.activeElement), true)
    await why.getByText('Intent pages on 0 days').waitFor()
    await assertAccessible()
    await page.keyboard.press('Escape')
    await why.waitFor({ state: 'detached' })
  })

  await t.test('a filter keeps the hot ones', async () => {
    await main.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Heat' }).click()
    await page.getByLabel('Heat, 0 to 100, at least').fill('50')
    await page.keyboard.press('Enter')
    await page.waitForURL(/heat_min=50/)
    await main.getByRole('status').getByText('2 companies', { exact: true }).waitFor()
    assert.deepEqual(await names(), ['Rising', 'Keen'])
  })

  await t.test('home names the companies that are heating up, and why', async () => {
    await open('home')
    const five = main.getByRole('region', { name: /o look at today$/ })
    const rising = five.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'Rising' }) })
    await five.getByText(/^Is heating up: heat \d+, \d+ more than 7 days before, read \/pricing$/).waitFor()
    await rising.getByRole('note').hover()
    await page.getByRole('tooltip').getByText('Intent pages on 2 days').waitFor()
    // Each company is on the page once.
    assert.equal(await main.getByRole('link', { name: 'Rising', exact: true }).count(), 1)
    await assertAccessible()
    // The companies of a short list follow each other.
    await rising.getByRole('link', { name: 'Rising' }).click()
    await main
      .getByRole('status')
      .getByText(/^\d of [2-5]$/)
      .waitFor()
  })

  await t.test('another intent page moves heat at once, is taken back, and the default is restored', async () => {
    await open('settings/intent')
    const section = main.getByRole('region', { name: 'Intent pages', exact: true })
    await section.getByText('1 page read in 90 days, such as /pricing').waitFor()
    await section.getByRole('textbox').fill('/docs?page=1')
    await section.getByRole('button', { name: 'Add page' }).click()
    await section.getByText('leave out the part from ? or # on').waitFor()
    await assertAccessible()
    await section.getByRole('textbox').fill(`${origin}/Docs`)
    await section.getByRole('button', { name: 'Add page' }).click()
    await section.getByText('1 page read in 90 days, such as /docs/api').waitFor()
    await assertAccessible()
    const heatNow = async () => {
      await open('companies')
      await heatOf('Calm').waitFor()
      return await heatOf('Calm').textContent()
    }
    const [before, after] = ['45', '53']
    assert.equal(await heatNow(), after)
    await open('settings/intent')
    await section.getByText('History of intent pages').click()
    await section.getByText('Mia').waitFor()
    await section.getByRole('list', { name: 'Corrections' }).getByRole('button', { name: 'Undo' }).click()
    await section.getByText('taken back', { exact: true }).waitFor()
    assert.equal(await heatNow(), before)
    await open('settings/intent')
    await section.getByRole('button', { name: 'Remove pricing', exact: true }).click()
    await section.getByRole('button', { name: 'Restore the default' }).click()
    await section.getByRole('button', { name: 'Restore the default' }).waitFor({ state: 'detached' })
    await section.getByText('1 page read in 90 days, such as /pricing').waitFor()
  })
  assertClean([422])
})

/** Companies with events at the start of days: Keen read pricing twice, Calm only the manual, Cold came long ago. */
async function storeVisits(clickhouseUrl: string): Promise<void> {
  const visits: readonly (readonly [name: string, daysAgo: number, path: string])[] = [
    ['Keen', 0, '/pricing'],
    ['Keen', 1, '/pricing'],
    ['Calm', 0, '/docs/api'],
    ['Calm', 1, '/'],
    ['Cold', 25, '/'],
    ['Rising', 0, '/pricing'],
    ['Rising', 2, '/pricing'],
    ['Rising', 9, '/'],
  ]
  const rows = visits.map(([name, daysAgo, path], i) => {
    const id = `${name.toLowerCase()}.example`
    const at = `toStartOfDay(now('UTC')) - INTERVAL ${daysAgo} DAY`
    return `('192.0.2.${i}', '${TENANT}', 'heat-${i}', ${at}, ${at}, '${id}', '${id}', '${name}', '${id}', '{"url":"https://site.example${path}"}')`
  })
  const sql = `INSERT INTO events
    (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, domain, extra)
    VALUES ${rows.join()}`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: sql })
  assert.equal(response.status, 200, await response.text())
}
