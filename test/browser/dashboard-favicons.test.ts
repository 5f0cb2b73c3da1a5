import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Favicons } from '../../src/dashboard/favicons/favicons.ts'
import { IconCache } from '../../src/dashboard/favicons/icon-cache.ts'
import { sharedChromium } from '../support/chromium.ts'
import { clock, startCompanies } from '../support/companies.ts'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { PNG } from '../support/icons.ts'
import { silent } from '../support/pipeline.ts'
import { Sites } from '../support/sites.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

/* Favicons as a person sees them, of sites on loopback. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined

test('a company has its icon in every list, and initials while it loads and when it has none', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const [sites, dir] = [
    await Sites.start({ after } as never),
    join(await temporaryFolder({ after } as never), 'favicons'),
  ]
  const favicons = new Favicons({
    ...{ cache: new IconCache({ dir, clock, log: silent }), userAgent: 'ipid/1', log: silent, searchMs: 300_000 },
    ...{ destinations: sites.destinations, siteOf: sites.siteOf },
  })
  const { dashboard } = await startCompanies(favicons)
  const held: ServerResponse[] = []
  sites.answers.set('anvil.example/favicon.ico', (_request, response) => void held.push(response))
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  t.after(() => context.close())
  const { page, assertAccessible, assertClean } = await openWatched(context, dashboard.url)
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/icon')) asked.push(decodeURIComponent(request.url().split('/').at(-2)!))
  })
  const main = page.getByRole('main')
  const shown = () =>
    main
      .locator('.ui-avatar img')
      .evaluateAll((all) => all.map((image) => 'naturalWidth' in image && image.naturalWidth))
  const avatarOf = (name: string) => main.getByRole('row').filter({ hasText: name }).locator('.ui-avatar')

  await t.test('in the list', async () => {
    await page.goto(await dashboard.link())
    await page.goto(`${dashboard.url}/t/acme/companies?when=all`)
    await until(() => held.length === 1)
    await avatarOf('Anvil').getByText('AN').waitFor()
    // An icon that comes slowly delays neither the page nor the other icons.
    await avatarOf('Bolt').getByText('BO').waitFor()
    await main.getByRole('row').filter({ hasText: 'Bolt' }).getByRole('img', { name: '1 visit in 30 days' }).waitFor()
    await until(() => asked.includes('bolt.example') && asked.includes('clamp.example'))
    assert.deepEqual(await shown(), [])
    held[0]!.end(PNG)
    await avatarOf('Anvil').locator('img').waitFor()
    assert.deepEqual(await shown(), [1])
    assert.equal(await avatarOf('Bolt').textContent(), 'BO')
    assert.deepEqual(asked.sort(), ['anvil.example', 'bolt.example', 'clamp.example'], 'none without a domain')
    await assertAccessible()
  })

  await t.test('an icon that has loaded is there at once on the next page', async () => {
    await page.evaluate(`
      window.flashed = false
      new MutationObserver(() => {
        const avatars = [...document.querySelectorAll('main .ui-avatar')]
        if (avatars.some(({ textContent }) => textContent === 'AN')) window.flashed = true
      }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
    await main.getByRole('link', { name: 'Anvil' }).click()
    await main.getByRole('heading', { name: 'Anvil', level: 1 }).locator('.ui-avatar img').waitFor()
    await page.goBack()
    await avatarOf('Anvil').locator('img').waitFor()
    assert.equal(await page.evaluate('window.flashed'), false)
  })

  await t.test('on home and on the page of the company, from the cache of the browser', async () => {
    await page.goto(`${dashboard.url}/t/acme/home`)
    await main.getByRole('link', { name: 'Anvil' }).first().waitFor()
    await until(async () => (await shown()).includes(1))
    await assertAccessible()
    await page.goto(`${dashboard.url}/t/acme/companies/of?id=anvil.example`)
    await main
      .getByRole('heading', { name: 'Anvil', level: 1 })
      .locator('.ui-avatar img')
      .waitFor({ state: 'attached' })
    assert.deepEqual(await shown(), [1])
    assert.equal(sites.asked.filter((place) => place.startsWith('anvil.example')).length, 1)
    await assertAccessible()
  })

  await t.test('no page asks for one while they are off', async () => {
    await page.route('**/api/session', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), favicons: false } })
    })
    asked.length = 0
    for (const path of ['companies?when=all', 'companies/of?id=anvil.example', 'home']) {
      await page.goto(`${dashboard.url}/t/acme/${path}`)
      await main
        .locator('.ui-avatar')
        .first()
        .getByText(/^[A-Z5]/)
        .waitFor()
    }
    assert.deepEqual([asked, await shown()], [[], []])
  })
  // This dashboard has only the calls about companies.
  assertClean([404])
})
