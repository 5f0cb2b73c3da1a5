import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { openWatched } from '../support/watched-page.ts'

/* Sign-in with a provider of OpenID Connect: a whole ipid, a real provider on another site, and a real browser. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'provided'

test('people sign in at a provider, and come back to the page that they wanted', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { origin, oidc } = shared
  await ran(shared, 'tenant', 'create', TENANT)
  await ran(shared, 'dashboard', 'link', TENANT, '--name', 'Eve', '--email', 'eve@provided.example')
  oidc.accounts.set('eve', { email: 'eve@provided.example', email_verified: true })
  oidc.accounts.set('stranger', { email: 'stranger@provided.example', email_verified: true })
  const visitor = async () => {
    const context = await browser.newContext()
    t.after(() => context.close())
    return await openWatched(context, origin)
  }
  const go = (page: Awaited<ReturnType<typeof visitor>>['page']) =>
    page.getByRole('button', { name: 'Sign in with Example ID' }).click()

  const { page, assertAccessible } = await visitor()
  await page.goto(`${origin}/t/${TENANT}/alerts`)
  await page.getByText('Sign in to see this page').waitFor()
  await page.getByRole('button', { name: 'Mail me a link' }).waitFor()
  await assertAccessible()
  oidc.close()
  await go(page)
  await page
    .getByText('Example ID does not answer now. Try again in a minute, or ask an operator for a link.')
    .waitFor()
  await assertAccessible()
  await oidc.listen()
  await go(page)
  await page.getByLabel('Login').fill('eve')
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await page.waitForURL(`${origin}/t/${TENANT}/alerts`)
  assert.deepEqual(
    await page.evaluate('fetch("/api/session").then((answer) => answer.json()).then(({ name, role }) => [name, role])'),
    ['Eve', 'admin'],
  )
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor()

  const stranger = await visitor()
  await stranger.page.goto(origin)
  await go(stranger.page)
  await stranger.page.getByLabel('Login').fill('stranger')
  await stranger.page.getByRole('button', { name: 'Go on' }).click()
  await stranger.page.getByText('No workspace here has invited stranger@provided.example').waitFor()
  await stranger.assertAccessible()
  await stranger.page.getByRole('link', { name: 'Back to the sign-in page' }).click()
  await stranger.page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor()
  assert.equal((await stranger.page.context().cookies(origin)).length, 0)
})
