import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { until } from '../support/until.ts'

/* What an admin says about good companies and heat, from the hint on Home to the list and back. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'fit'

test('an admin says which companies fit and what heat weighs, sees the effect before, and the list follows', {
  skip,
}, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, origin } = shared
  await ran(shared, 'tenant', 'create', TENANT)
  await storeVisits(ready.tables_url)
  const { page, assertAccessible, assertClean } = await openAsMember(t, browser, shared, {
    ...{ tenant: TENANT, name: 'Mia', viewport: { width: 1440, height: 900 } },
  })
  const main = page.getByRole('main')
  const open = (path: string) => page.goto(`${origin}/t/${TENANT}/${path}`)
  const names = () => main.locator('tbody tr[data-row] th a').allTextContents()
  const fit = main.getByRole('region', { name: 'Which companies fit' })
  const heat = main.getByRole('region', { name: 'Points of heat' })

  await t.test('without signs only Home says a word about fit', async () => {
    await open('companies')
    await main.getByRole('link', { name: 'Suds' }).waitFor()
    assert.equal(await main.getByRole('columnheader', { name: 'Fit' }).count(), 0)
    await main.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Heat' }).waitFor()
    assert.equal(await page.getByRole('menuitem', { name: 'Fit', exact: true }).count(), 0)
    await page.keyboard.press('Escape')
    await open('home')
    await main.getByRole('link', { name: 'Say which companies fit you' }).click()
    await page.waitForURL(/settings\/heat-and-fit$/)
  })

  await t.test('signs show how many companies they fit before they are saved', async () => {
    await fit.getByRole('button', { name: 'Any industry of' }).click()
    await page.getByRole('checkbox', { name: /^Software/ }).check()
    // Another value may follow: Enter adds no sign yet.
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.keyboard.press('Enter')
    await page.getByRole('checkbox', { name: /^Food/ }).check()
    await page.getByRole('checkbox', { name: /^Food/ }).uncheck()
    await page.keyboard.press('Escape')
    assert.deepEqual(
      asked.filter((path) => path.endsWith('/fit/preview')),
      [],
    )
    await fit.getByRole('button', { name: 'Add sign' }).click()
    await fit.getByRole('row').filter({ hasText: 'Software' }).waitFor()
    await fit.getByLabel('Companies by').selectOption({ label: 'Visits from' })
    await fit.getByRole('button', { name: 'Any country of' }).click()
    await page.getByRole('checkbox', { name: /^Germany/ }).check()
    await page.keyboard.press('Escape')
    await fit.getByRole('button', { name: 'Add sign' }).click()
    await fit.getByRole('row').filter({ hasText: 'Germany' }).waitFor()
    await fit.getByText('Against a company', { exact: true }).click()
    await fit.getByLabel('Companies by').selectOption({ label: 'A filter as text' })
    await fit.getByRole('textbox', { name: 'Filter' }).fill('heat>=50')
    await fit.getByRole('button', { name: 'Add sign' }).click()
    await fit.getByText('fit is about what a company is, not about what it did').waitFor()
    await assertAccessible()
    await fit.getByRole('textbox', { name: 'Filter' }).fill('classification=education')
    await fit.getByRole('button', { name: 'Add sign' }).click()
    await fit.getByRole('row').filter({ hasText: 'education' }).waitFor()
    await fit.getByText('Not saved yet', { exact: false }).waitFor()
    await fit.getByText('of 4 companies').first().waitFor()
    await assertAccessible()
    await fit.getByRole('button', { name: 'Save fit' }).click()
    await page.getByText('All companies have their fit now.').waitFor()
    await fit.getByRole('link', { name: '1', exact: true }).first().waitFor()
  })

  await t.test('the list has a column, an order, a filter and reasons', async () => {
    await open('companies')
    await main.getByRole('button', { name: /^Fit/ }).click()
    await page.waitForURL(/sort=fit/)
    // Of the same fit, the last seen is first.
    await until(names, (found) => found.join() === 'Suds,Bread,Toys,Campus')
    await main.getByRole('row').filter({ hasText: 'Suds' }).getByRole('note', { name: 'Good fit' }).hover()
    await page.getByRole('tooltip').getByText('Fits: Software, Germany').waitFor()
    await assertAccessible()
    await main.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Fit', exact: true }).click()
    await page.getByRole('checkbox', { name: /^Poor/ }).check()
    await page.waitForURL(/fit=poor/)
    await main.getByRole('status').getByText('2 companies', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await main.getByRole('link', { name: 'Campus' }).click()
    await main.getByText('Does not fit: education').waitFor()
    await open('home')
    const five = main.getByRole('region', { name: /o look at today$/ })
    await five.getByText(/^Is a good fit and new: 1 visit/).waitFor()
    assert.deepEqual(await five.getByRole('link').allTextContents(), ['Suds', 'Bread'])
  })

  await t.test('points of heat show both lists, and are refused until they add up', async () => {
    await open('settings')
    await main.getByRole('link', { name: 'Heat and fit' }).click()
    await heat
      .getByRole('region', { name: 'Hottest now' })
      .getByRole('row')
      .nth(1)
      .filter({ hasText: 'Toys' })
      .waitFor()
    await heat.getByLabel('Last visit').fill('0')
    await heat.getByText('30 points left to give.').waitFor()
    assert.equal(await heat.getByRole('button', { name: 'Save points' }).isDisabled(), true)
    await heat.getByLabel('Events a day').fill('45')
    const preview = heat.getByRole('region', { name: 'Hottest with these points' })
    await preview.getByRole('row').nth(1).filter({ hasText: 'Bread' }).filter({ hasText: 'up' }).waitFor()
    await assertAccessible()
    const levels = () => page.waitForResponse((response) => response.url().endsWith('/heat-levels'))
    const saved = levels()
    await heat.getByRole('button', { name: 'Save points' }).click()
    await saved
    await page.getByText('The points of heat are changed.').waitFor()
    await heat
      .getByRole('region', { name: 'Hottest now' })
      .getByRole('row')
      .nth(1)
      .filter({ hasText: 'Bread' })
      .waitFor()
    await heat.getByText('History of points').click()
    const undone = levels()
    await heat.getByRole('button', { name: 'Undo' }).click()
    await undone
    await heat.getByText('taken back', { exact: true }).waitFor()
    await heat
      .getByRole('region', { name: 'Hottest now' })
      .getByRole('row')
      .nth(1)
      .filter({ hasText: 'Toys' })
      .waitFor()
  })
  assertClean([422])
})

/** Toys read pricing today, Bread sent many events some days ago. */
async function storeVisits(clickhouseUrl: string): Promise<void> {
  const visits: readonly (readonly [
    name: string,
    industry: string,
    country: string,
    kind: string,
    ago: number,
    times: number,
    path: string,
  ])[] = [
    ['Suds', 'Software', 'DE', 'business', 1, 1, '/'],
    ['Bread', 'Food', 'DE', 'business', 6, 40, '/docs'],
    ['Campus', 'Software', 'DE', 'education', 2, 1, '/'],
    ['Toys', 'Retail', 'FR', 'business', 0, 1, '/pricing'],
  ]
  const rows = visits.flatMap(([name, industry, country, kind, ago, times, path], i) => {
    const id = `${name.toLowerCase()}.example`
    const at = `toStartOfDay(now('UTC')) - INTERVAL ${ago} DAY`
    return Array.from(
      { length: times },
      (_, n) =>
        `('192.0.2.${i}', '${TENANT}', 'fit-${i}-${n}', ${at}, ${at}, '${id}', '${id}', '${name}', '${id}', '${industry}', '${country}', '${kind}', '{"url":"https://site.example${path}"}')`,
    )
  })
  const sql = `INSERT INTO events
    (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, business_name, domain, industry, country_code, classification, extra)
    VALUES ${rows.join()}`
  const response = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: sql })
  assert.equal(response.status, 200, await response.text())
}
