import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { TOKEN } from '../support/hubspot.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { storeVisits } from '../support/stored-visits.ts'

/* HubSpot as an admin connects it: a whole ipid, a real browser, and a HubSpot made from its documentation. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'crm'

test('an admin connects HubSpot, and sees what was sent and what was refused', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, hubspot } = shared
  await ran(shared, 'tenant', 'create', TENANT)
  await storeVisits(ready.tables_url, TENANT)
  await ran(shared, 'segment', 'create', TENANT, 'French', '--where', 'country=FR')
  const { page, assertAccessible, assertClean } = await openAsMember(t, browser, shared, {
    tenant: TENANT,
    name: 'Ada',
    viewport: { width: 1440, height: 900 },
  })
  const main = page.getByRole('main')
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const token = main.getByLabel('Access token')

  await t.test('the form names the scopes, and refuses what is no token', async () => {
    await page.getByRole('link', { name: 'Settings' }).click()
    await main.getByRole('link', { name: 'HubSpot', exact: true }).click()
    await main.getByText('crm.objects.owners.read').waitFor()
    assert.equal(await token.getAttribute('type'), 'password')
    assert.ok(await button('Connect HubSpot').isDisabled())
    await token.fill('this is no token at all')
    await button('Connect HubSpot').click()
    await main.getByRole('alert').filter({ hasText: 'token' }).first().waitFor()
    await assertAccessible()
  })

  await t.test('a wrong token stops it, and says what to do; a new one starts it', async () => {
    await token.fill('pat-eu1-0000000000-wrong')
    await button('Connect HubSpot').click()
    await main.getByRole('heading', { name: 'HubSpot waits for you' }).waitFor()
    await main.getByText('does not accept the token').first().waitFor()
    await assertAccessible()
    await button('Replace token').click()
    await token.fill(TOKEN)
    await button('Connect HubSpot').click()
    const syncs = main.getByRole('table', { name: 'Syncs' })
    await syncs.getByRole('row').filter({ hasText: 'complete' }).getByText('3', { exact: true }).waitFor()
    assert.deepEqual(
      hubspot
        .all()
        .map(({ domain, name }) => `${domain} ${name}`)
        .sort(),
      ['bank.example Old Bank', 'far.example Faraway', 'new.example Newcomer'],
    )
    await assertAccessible()
  })

  await t.test('a refused company is listed with its reason, and leads to its page', async () => {
    hubspot.records.find((record) => hubspot.values(record).domain === 'far.example')!.archived = true
    await button('Sync now').click()
    const refused = main.getByRole('table', { name: 'Refused companies' })
    await refused.getByText('it was deleted in HubSpot').waitFor()
    await main.getByRole('heading', { name: '1 company refused' }).waitFor()
    await assertAccessible()
    // Sections are beside each other, and all facts are in one row.
    assert.equal(await main.locator('section section .ui-table').count(), 0)
    const tops = await main
      .locator('.ui-facts > div')
      .evaluateAll((facts) => facts.map((fact) => fact.getBoundingClientRect().top))
    assert.deepEqual([tops.length, new Set(tops).size], [5, 1])
    await refused.getByRole('link', { name: 'Faraway' }).click()
    await main.getByRole('heading', { name: 'Faraway' }).first().waitFor()
    await page.goBack()
  })

  await t.test('it is disconnected, and HubSpot keeps its companies', async () => {
    await button('Disconnect').click()
    await page.getByRole('dialog').getByText('Companies and properties in HubSpot stay').waitFor()
    await assertAccessible()
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
    await token.waitFor()
    assert.equal(hubspot.all().length, 2)
  })
  assertClean([422])
})
