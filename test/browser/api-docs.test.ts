import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { API_KEY, startHttp } from '../support/http.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

/* The page of the API, in a real browser. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined

test('/docs shows the operations and tries one with a key, without another server', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const { url } = await startHttp(t)
  const context = await browser.newContext()
  t.after(() => context.close())
  const { page, assertClean, assertAccessible } = await openWatched(context, url)
  const response = await page.goto(`${url}/docs`)
  assert.match(
    response!.headers()['content-security-policy']!,
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  )
  await page.getByRole('link', { name: 'Companies', exact: true }).waitFor()
  assert.deepEqual(await page.locator('.opblock-tag a').allTextContents(), [
    ...['Events', 'Jobs', 'Lookups', 'Companies', 'Service', 'Webhooks'],
  ])

  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.locator(colorScheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)').waitFor()
  }

  assert.equal(await page.getByRole('main').count(), 1)
  await assertAccessible('.information-container')
  await page.emulateMedia({ colorScheme: 'dark' })
  // The colour fades in.
  await until(() =>
    page.evaluate<boolean>(
      "getComputedStyle(document.querySelector('.expand-operation svg path')).fill === 'rgb(183, 188, 191)'",
    ),
  )
  await page.emulateMedia({ colorScheme: 'light' })

  const samples = page.locator('#samples')
  await samples.locator('summary').click()
  const shown = samples.locator('pre:visible')
  await shown
    .filter({ hasText: `curl -s ${url}/v1/ingest ` })
    .first()
    .waitFor()
  for (const [language, text] of [
    ['Python', 'client.upload_file('],
    ['Go', 'func call('],
    ['TypeScript', `new Ipid({ key: process.env.IPID_API_KEY!, url: '${url}' })`],
  ] as const) {
    await samples.getByRole('radio', { name: language }).check()
    await shown.filter({ hasText: text }).waitFor()
    assert.equal(await shown.count(), 6)
  }
  await assertAccessible('#samples')
  await samples.locator('summary').click()

  await page.locator('.btn.authorize').click()
  await page.locator('.auth-container', { hasText: 'X-API-Key' }).getByRole('textbox').fill(API_KEY)
  await page.locator('.auth-container', { hasText: 'X-API-Key' }).getByRole('button', { name: /apply/i }).click()
  await page.locator('.btn-done').first().click()
  await page.getByRole('link', { name: 'Companies', exact: true }).click()
  const companies = page.locator('#operations-Companies-companies')
  await companies.locator('.opblock-summary-control').click()
  await companies.getByRole('button', { name: 'Try it out' }).click()
  await companies.getByRole('button', { name: 'Execute' }).click()
  await companies.locator('.live-responses-table').getByText('"next_cursor"').first().waitFor()

  await page.getByRole('navigation', { name: 'Documents' }).getByRole('link', { name: 'Paths of other tools' }).click()
  await page.getByRole('link', { name: 'Segment', exact: true }).waitFor()
  assert.equal(await page.locator('nav [aria-current=page]').textContent(), 'Paths of other tools')

  assertClean()
  assert.equal(
    await (await fetch(`${url}/docs/ipid.py`)).text(),
    readFileSync(new URL('../../src/client/python/ipid.py', import.meta.url), 'utf8'),
  )
  assert.equal((await fetch(`${url}/docs/package.json`)).status, 404)
  assert.equal((await fetch(`${url}/docs/__proto__`)).status, 404)
})
