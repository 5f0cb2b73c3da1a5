import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { storeVisits } from '../support/stored-visits.ts'
import { openWatched } from '../support/watched-page.ts'

/* A list and a company for people without an account, and filters with any of and none of: a whole ipid, and a real browser. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'sharing'

test('a member shares a list and a company, and ends the link', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, origin } = shared
  await ran(shared, 'tenant', 'create', TENANT)
  await storeVisits(ready.tables_url, TENANT)
  const { page, assertAccessible, assertClean } = await openAsMember(t, browser, shared, {
    tenant: TENANT,
    name: 'Ada',
  })
  const main = page.getByRole('main')
  const dialog = page.getByRole('dialog')
  // Another browser, without a session.
  const stranger = await browser.newContext({ viewport: { width: 390, height: 844 } })
  t.after(() => stranger.close())
  const {
    page: theirs,
    assertAccessible: assertTheirs,
    assertClean: assertTheirsClean,
  } = await openWatched(stranger, origin)
  const share = async (title: string) => {
    await main.getByRole('button', { name: 'Share' }).click()
    await dialog.getByLabel('Title that they see').fill(title)
    await assertAccessible()
    await dialog.getByRole('button', { name: 'Create link' }).click()
    const link = await dialog.getByLabel('Shared link').inputValue()
    await assertAccessible()
    await dialog.getByRole('button', { name: 'Done' }).click()
    return link
  }
  let link = ''

  await t.test('a list is shared with the chosen columns', async () => {
    await page.goto(`${origin}/t/${TENANT}/companies?when=all&country=DE&country=FR`)
    await main.getByText('2 companies').waitFor()
    await main.getByRole('button', { name: 'Share' }).click()
    await dialog.getByText('Everybody who has the link').waitFor()
    assert.equal(await dialog.getByText('Until somebody revokes it').count(), 0)
    await dialog.getByLabel('Heat').uncheck()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    link = await share('For Eve')
    await theirs.goto(link)
    await theirs.getByRole('heading', { name: 'For Eve', level: 1 }).waitFor()
    await theirs.getByText('2 companies. Visits and events are those of all time.').waitFor()
    for (const text of ['Old Bank', 'Newcomer', 'bank.example', 'Germany'])
      assert.ok(await theirs.getByText(text).count(), text)
    assert.equal(await theirs.getByText('Faraway').count(), 0)
    assert.equal(await theirs.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
    await assertTheirs()
    await theirs.setViewportSize({ width: 1440, height: 900 })
    await assertTheirs()
  })

  await t.test('a company is shared', async () => {
    await page.goto(`${origin}/t/${TENANT}/companies/of?id=bank.example`)
    const ofCompany = await share('Old Bank')
    await theirs.goto(ofCompany)
    await theirs.getByRole('heading', { name: 'Old Bank', level: 1 }).waitFor()
    await theirs.getByRole('img', { name: /^1 visit from/ }).waitFor()
    await assertTheirs()
  })

  await t.test('Settings lists the links, and a revoked one ends at once', async () => {
    await page.goto(`${origin}/t/${TENANT}/settings`)
    await main.getByRole('link', { name: 'Shared links' }).click()
    const row = main.getByRole('row').filter({ hasText: 'For Eve' })
    await row.getByText('Companies with country=DE,country=FR').waitFor()
    await row.getByText('Ada').waitFor()
    await row.getByText(/ago|now/).waitFor()
    await assertAccessible()
    await row.getByRole('button', { name: 'Revoke the link to For Eve' }).click()
    await dialog.getByRole('button', { name: 'Revoke link' }).click()
    await row.waitFor({ state: 'detached' })
    await theirs.goto(link)
    await theirs.getByRole('heading', { name: 'This link does not work' }).waitFor()
    await assertTheirs()
  })
  assertClean()
  assertTheirsClean([404])
})

test('a member combines filters with any of and none of, as groups and as text', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, origin } = shared
  const tenant = `${TENANT}-groups`
  await ran(shared, 'tenant', 'create', tenant)
  await storeVisits(ready.tables_url, tenant)
  const { page, assertAccessible, assertClean } = await openAsMember(t, browser, shared, { tenant, name: 'Ada' })
  const main = page.getByRole('main')
  const dialog = page.getByRole('dialog')
  const names = async () => (await main.locator('tbody tr[data-row] th a').allTextContents()).sort()
  const edit = async () => {
    await main.getByRole('button', { name: /^Also/ }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await dialog.waitFor()
  }

  await t.test('groups are made with a few clicks', async () => {
    await page.goto(`${origin}/t/${tenant}/companies?when=all`)
    await main.getByText('3 companies').waitFor()
    await main.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Any of, none of' }).click()
    await dialog.getByLabel('Value').fill('FR')
    await dialog.getByRole('button', { name: 'Add a term' }).click()
    await dialog.getByLabel('Term', { exact: true }).nth(1).selectOption({ label: 'Name, domain or id contains' })
    await dialog.getByLabel('Value').nth(1).fill('bank')
    await assertAccessible()
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await main.getByText('2 companies').waitFor()
    assert.deepEqual(await names(), ['Newcomer', 'Old Bank'])
    assert.equal(new URL(page.url()).searchParams.get('condition'), 'country=FR or search=bank')
    await assertAccessible()
  })

  await t.test('a second group is none of', async () => {
    await edit()
    await dialog.getByRole('button', { name: 'Add a group' }).click()
    await dialog.getByLabel('And they have').selectOption({ label: 'none of these' })
    await dialog.getByLabel('Value').nth(2).fill('DE')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await main.getByText('1 company', { exact: true }).waitFor()
    assert.deepEqual(await names(), ['Newcomer'])
  })

  await t.test('what cannot be drawn is text, and a mistake is named with its place', async () => {
    await edit()
    await dialog.getByRole('button', { name: 'Write it as text' }).click()
    const text = dialog.getByLabel('Condition')
    await text.fill('country=FR or (country=DE and')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await dialog.getByText(/^At the end: here comes not/).waitFor()
    assert.equal(await text.getAttribute('aria-invalid'), 'true')
    await assertAccessible()
    await text.fill('country=FR or (country=DE and search=bank)')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await main.getByText('2 companies').waitFor()
    await edit()
    assert.equal(await text.inputValue(), 'country=FR or (country=DE and search=bank)')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await main.getByRole('button', { name: 'Clear Also' }).click()
    await main.getByText('3 companies').waitFor()
  })

  await t.test('a list to begin with is kept as a segment with one click', async () => {
    await page.goto(`${origin}/t/${tenant}/companies`)
    await main.getByRole('link', { name: 'Customers who came back' }).click()
    await main.getByText('No company matches').waitFor()
    assert.equal(await main.getByRole('button', { name: 'Save as segment' }).count(), 0)
    await main.getByRole('button', { name: 'Keep as “Customers who came back”' }).click()
    await main.getByRole('heading', { name: 'Customers who came back', level: 1 }).waitFor()
    const { stdout } = await shared.site.ipid('segment', 'list', tenant, '--json')
    const [saved] = JSON.parse(stdout) as { where: string }[]
    assert.equal(saved!.where, 'days=7,((tag=customer or status=customer) and not (new_days=7))')
    await page.goto(`${origin}/t/${tenant}/companies`)
    await main.getByRole('link', { name: 'Hot and no owner' }).waitFor()
    assert.equal(await main.getByRole('link', { name: 'Customers who came back' }).count(), 0)
    await assertAccessible()
  })
  assertClean([422])
})
