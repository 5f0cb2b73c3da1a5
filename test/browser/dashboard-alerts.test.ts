import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import type { SegmentsAnswer } from '../../schemas/dashboard/segments.ts'
import { Receiver } from '../support/alerts.ts'
import { sharedChromium } from '../support/chromium.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { storeVisits } from '../support/stored-visits.ts'
import { until } from '../support/until.ts'

/* Segments and alerts as a member uses them: a whole ipid, a real browser, and a receiver of webhooks. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'watch'
/** An address of a company in the starter data. */
const COMPANY_IP = '17.253.144.10'

test('a member saves a segment, gets a message when a company enters it, and sees the delivery', {
  skip,
}, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, origin } = shared
  const run = (...args: string[]) => ran(shared, ...args)
  await run('tenant', 'create', TENANT)
  const { key } = JSON.parse(await run('key', 'create', TENANT, '--json')) as { key: string }
  await storeVisits(ready.tables_url, TENANT)
  const receiver = await Receiver.start(t)
  const watched = await openAsMember(t, browser, shared, { tenant: TENANT, name: 'Ada' })
  const { page, assertAccessible, assertClean } = watched
  const main = page.getByRole('main')
  const at = (path: string) => `${origin}/t/${TENANT}/${path}`
  const alertMenu = async (name: string, entry: string) => {
    await main.getByRole('button', { name: `Actions for ${name}` }).click()
    await page.getByRole('menuitem', { name: entry }).click()
  }

  await t.test('before an alert is switched on, it shows when it would have fired', async () => {
    await page.getByRole('link', { name: 'Alerts' }).click()
    await main.getByText('There is no alert yet').waitFor()
    await assertAccessible()
    await main.getByRole('link', { name: 'New alert' }).click()
    await main.getByText('Would have fired 2 times in 90 days').waitFor()
    await main.getByRole('link', { name: 'Newcomer' }).waitFor()
    await main.getByLabel('Tell me when').selectOption('a company returns after some days')
    await main.getByText('Would have fired once in 90 days').waitFor()
    await main.getByRole('row').filter({ hasText: 'Old Bank' }).waitFor()
    await main.getByLabel('Days without a visit').fill('300')
    await main.getByText('Would not have fired in 90 days').waitFor()
    await main.getByLabel('Tell me when').selectOption('a company enters a segment')
    await main.getByText('There is no segment yet').waitFor()
    await assertAccessible()
  })

  await t.test('filters are saved as a segment, which the navigation opens, renames and updates', async () => {
    await page.goto(at('companies?when=all'))
    await main.getByRole('link', { name: 'Old Bank' }).waitFor()
    assert.equal(await main.getByRole('button', { name: 'Save as segment' }).count(), 0)
    await page.goto(at('companies?country=DE'))
    await main.getByRole('button', { name: 'Save as segment' }).click()
    await page.getByText('looks at the last 30 days').waitFor()
    await assertAccessible()
    await page.getByLabel('Name of the segment').fill('Germany')
    await page.getByRole('button', { name: 'Save segment' }).click()
    await main.getByRole('heading', { name: 'Germany', level: 1 }).waitFor()
    await page.goto(at('home'))
    const links = page.getByRole('list', { name: 'Segments' })
    await links.getByRole('link', { name: 'Germany' }).click()
    await main.getByRole('heading', { name: 'Germany', level: 1 }).waitFor()
    await main.getByRole('link', { name: 'Old Bank' }).waitFor()
    assert.equal(await main.getByRole('link', { name: 'Newcomer' }).count(), 0)
    assert.equal(await links.getByRole('link', { name: 'Germany' }).getAttribute('aria-current'), 'page')
    assert.equal(await main.getByRole('button', { name: 'Update segment' }).count(), 0)
    await assertAccessible()

    await main.getByRole('button', { name: 'Last 30 days' }).click()
    await page.getByRole('button', { name: 'Last 7 days' }).click()
    await main.getByRole('button', { name: 'Save as new' }).waitFor()
    await main.getByRole('button', { name: 'Update segment' }).click()
    await main.getByRole('button', { name: 'Update segment' }).waitFor({ state: 'detached' })
    await main.getByRole('button', { name: 'Actions for segment Germany' }).click()
    await page.getByRole('menuitem', { name: 'Rename segment' }).click()
    await page.getByLabel('Name of the segment').fill('German visitors')
    await page.getByRole('button', { name: 'Rename segment' }).click()
    await main.getByRole('heading', { name: 'German visitors', level: 1 }).waitFor()
    const answer = await page.request.get(at('').replace(`/t/${TENANT}/`, `/api/tenants/${TENANT}/segments`))
    const { segments } = (await answer.json()) as SegmentsAnswer
    assert.deepEqual(
      segments.map(({ name, where }) => [name, where]),
      [['German visitors', 'country=DE,days=7']],
    )
  })

  await t.test('from the segment, an alert is two clicks away, and its secret is shown once', async () => {
    await main.getByRole('link', { name: 'Tell me when a company enters' }).click()
    await main.getByText('Would have fired once in 90 days').waitFor()
    assert.equal(await main.getByLabel('Name of the alert').inputValue(), 'Enters German visitors')
    const url = main.getByLabel('URL of your program')
    await url.fill('ftp://example.com/')
    await main.getByRole('button', { name: 'Create alert' }).click()
    await main.getByText('must start with https:// or http://').waitFor()
    assert.equal(await url.getAttribute('aria-invalid'), 'true')
    await url.fill(`${receiver.url}/hook?key=hidden`)
    await assertAccessible()
    await main.getByRole('button', { name: 'Create alert' }).click()
    await main.getByRole('heading', { name: 'The alert is on' }).waitFor()
    const secret = await main.getByRole('textbox', { name: 'Signing secret' }).inputValue()
    assert.match(secret, /^whsec_/)
    assert.ok(new Webhook(secret))
    receiver.key = secret
    await assertAccessible()

    await main.getByRole('button', { name: 'Send a test message' }).click()
    await main.getByText('The test message was delivered').waitFor()
    await main.getByLabel('Beginning of the answer').getByText('ok').waitFor()
    assert.deepEqual(
      [receiver.received.length, receiver.received[0]!.path, receiver.invalid],
      [1, '/hook?key=hidden', []],
    )
    await main.getByRole('button', { name: 'Done' }).click()
    await main
      .getByRole('row')
      .filter({ hasText: 'A company enters German visitors' })
      .getByText('on', { exact: true })
      .waitFor()
    const content = await page.content()
    assert.ok(!content.includes(secret.slice(6)) && !content.includes('key=hidden'), 'shown once')
    await assertAccessible()
  })

  await t.test('a destination that fails shows its answer', async () => {
    receiver.answer = (_, response) => void response.writeHead(500).end('the database is down')
    await alertMenu('Enters German visitors', 'Send a test message')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The test message was not delivered').waitFor()
    await dialog.getByText(/it answers 500/).waitFor()
    await dialog.getByText('the database is down').waitFor()
    await assertAccessible()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await main.getByRole('row').filter({ hasText: 'Enters German visitors' }).getByText('it answers 500').waitFor()
  })

  await t.test('a visit fires an alert, and its message is sent again by hand', async () => {
    await main.getByRole('link', { name: 'New alert' }).click()
    await main.getByLabel('URL of your program').fill(receiver.url)
    await main.getByRole('button', { name: 'Create alert' }).click()
    await main.getByRole('button', { name: 'Done' }).click()
    receiver.key = undefined
    const body = JSON.stringify({ events: [{ ip: COMPANY_IP }] })
    // The evaluation has recorded the start of the alert within a few seconds.
    await until(async () => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      assert.equal((await fetch(`${ready.url}/v1/ingest`, { method: 'POST', headers, body })).status, 200)
      return receiver.received.some(({ body: text }) => text.includes('company.first_seen'))
    })
    await main.getByRole('link', { name: 'Messages' }).click()
    const row = main.getByRole('row').filter({ hasText: 'Apple' })
    await row.getByText('waiting', { exact: true }).waitFor()
    await row.getByText('it answers 500').waitFor()
    await main.getByText('Waiting', { exact: true }).click()
    await until(async () => (await main.locator('tbody tr[data-row]').count()) === 1)
    await assertAccessible()
    receiver.answer = (_, response) => void response.end('thanks')
    await row.getByRole('button', { name: 'Send now: Apple' }).click()
    await main.getByText('No message matches').waitFor()
    await main.getByText('Delivered', { exact: true }).click()
    await row.getByText('answered 200').waitFor()
    const ids = receiver.received.filter(({ body: text }) => text.includes('company.first_seen')).map(({ id }) => id)
    assert.equal(new Set(ids).size, 1)
    await row.getByRole('button', { name: 'Details of Apple' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('it answers 500').first().waitFor()
    await dialog.getByText('"type": "company.first_seen"').waitFor()
    await assertAccessible()
    await dialog.getByRole('button', { name: 'Close' }).click()
  })

  await t.test('an alert is paused, resumed and removed; a segment stays while an alert needs it', async () => {
    await main.getByRole('link', { name: 'Alerts', exact: true }).click()
    const row = main.getByRole('row').filter({ hasText: 'Enters German visitors' })
    await alertMenu('Enters German visitors', 'Pause')
    await row.getByText('paused by a person').waitFor()
    await alertMenu('Enters German visitors', 'Resume')
    await row.getByText('on', { exact: true }).waitFor()

    const remove = async () => {
      await page.getByRole('list', { name: 'Segments' }).getByRole('link', { name: 'German visitors' }).click()
      await main.getByRole('button', { name: 'Actions for segment German visitors' }).click()
      await page.getByRole('menuitem', { name: 'Remove segment' }).click()
      await page.getByRole('button', { name: 'Remove segment' }).click()
    }
    await remove()
    await page.getByText('the alert Enters German visitors needs segment German visitors').waitFor()
    await assertAccessible()
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('link', { name: 'Alerts' }).click()
    await alertMenu('Enters German visitors', 'Remove')
    await page.getByRole('button', { name: 'Remove alert' }).click()
    await row.waitFor({ state: 'detached' })
    await remove()
    await main.getByRole('heading', { name: 'Companies', level: 1 }).waitFor()
    await page.getByRole('list', { name: 'Segments' }).waitFor({ state: 'detached' })
    await checkNarrow(page, ['alerts', 'alerts/new', 'alerts/digest', 'alerts/messages'].map(at))
  })
  assertClean([422])
})

/** Nothing is wider than a phone. */
async function checkNarrow(page: Page, urls: readonly string[]): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 })
  for (const url of urls) {
    await page.goto(url)
    await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle')
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, url)
  }
}
