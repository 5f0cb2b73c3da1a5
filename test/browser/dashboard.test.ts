import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { type ReadyFile, TestSite } from '../support/site.ts'
import { openWatched, type WatchedPage } from '../support/watched-page.ts'
import { checkCompaniesPages } from './companies-pages.ts'

/* The dashboard as a person uses it: a whole ipid, and a real browser. */

const browser = await sharedChromium()
/** Everything of the first view over the wire: the code of all pages is one file. */
const FIRST_VIEW_BYTES = 220_000
const skip = typeof browser === 'string' ? browser : undefined

test('the printed link signs in, and signing out ends it', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const site = new TestSite(t)
  const started = site.start()
  const ready = (await started.ready()) as ReadyFile & { dashboard_url?: string }
  const { dashboard_url: link } = ready
  const origin = new URL(link!).origin
  const context = await browser.newContext()
  t.after(() => context.close())
  const watched = await openWatched(context, origin)
  const { page, assertClean, assertAccessible } = watched

  await page.goto(link!)
  assert.ok(!page.url().includes('token'))
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await assertAccessible()
  const wire = 'performance.getEntries().reduce((sum, { transferSize = 0 }) => sum + transferSize, 0)'
  assert.ok(((await page.evaluate(wire)) as number) < FIRST_VIEW_BYTES)
  await page.goto(`${origin}/t/${ready.tenant_id}`)
  await page.waitForURL(`${origin}/t/${ready.tenant_id}/home`)
  await checkCompaniesPages(watched, {
    ...{ origin, apiUrl: ready.url, clickhouseUrl: ready.tables_url },
    ...{ tenant: ready.tenant_id!, apiKey: ready.api_key! },
  })
  // This instance has no SMTP_URL.
  await page.goto(`${origin}/t/${ready.tenant_id}/alerts/new`)
  await page.getByRole('main').getByText('E-mail', { exact: true }).click()
  await page.getByText('Set SMTP_URL').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Create alert' }).isDisabled())
  await checkMember(t, watched, site, `${origin}/t/${ready.tenant_id}`)
  const [cookie] = await context.cookies()
  assert.deepEqual([cookie!.httpOnly, cookie!.sameSite], [true, 'Strict'])
  // 404 is the company that goes while its page is open.
  assertClean([404, 500, 503])

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('./ipid dashboard').or(page.getByLabel('Command for a sign-in link')).first().waitFor()
  await assertAccessible()
  await context.addCookies([cookie!])
  await page.goto(origin)
  await page.getByLabel('Command for a sign-in link').waitFor()
  await page.goto(link!)
  await page.getByText('This link has been used already').waitFor()
  assertClean([401, 404, 500, 503])

  // A link on a page of another site.
  await context.clearCookies()
  const again = (await site.ipid('dashboard')).stdout.trim()
  await page.goto(`data:text/html,<a href="${again}">go</a>`)
  await page.getByRole('link', { name: 'go' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  assert.deepEqual(await context.cookies(), [])
  await assertAccessible()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  assert.ok(!page.url().includes('token'))

  // Another user's link, while an operator is signed in.
  await page.goto((await site.ipid('dashboard', 'link', ready.tenant_id!)).stdout.trim())
  await page.getByText('signed in as an operator').waitFor()
  await assertAccessible()
  await page.getByRole('link', { name: 'Stay signed in as before' }).click()
  await page.getByRole('link', { name: 'System' }).waitFor()
  assertClean([401, 404, 500, 503])
  // A page with a stream of events, and one that polls.
  const other = await context.newPage()
  await other.goto(`${origin}/t/${ready.tenant_id}/companies`)
  await other.getByRole('heading', { name: 'Companies' }).waitFor()
  await page.getByRole('link', { name: 'System' }).click()
  await page.getByRole('heading', { name: 'System' }).waitFor()
  // Also those of the member.
  assert.equal((await site.ipid('dashboard', 'sign-out')).stdout, 'ended: 2 sessions, 2 links not opened yet\n')
  for (const open of [page, other]) await open.getByLabel('Command for a sign-in link').waitFor()
  started.child.kill('SIGTERM')
  assert.equal((await started.ended).code, 0)
})

/** Names of settings are for those who can change them. */
async function checkMember(t: TestContext, { page }: WatchedPage, site: TestSite, workspace: string): Promise<void> {
  const context = await page.context().browser()!.newContext()
  t.after(() => context.close())
  const member = await openWatched(context, new URL(workspace).origin)
  const { stdout } = await site.ipid('dashboard', 'link', workspace.split('/').at(-1)!, '--name', 'Ann')
  await member.page.goto(stdout.trim())
  await member.page.getByRole('button', { name: 'Sign in', exact: true }).click()
  const main = member.page.getByRole('main')
  for (const [path, text] of [
    ['alerts/digest', 'E-mail is not set up'],
    ['exports', 'Ask your operator if they should go to a bucket.'],
  ] as const) {
    await member.page.goto(`${workspace}/${path}`)
    await main.getByText(text).waitFor()
    assert.doesNotMatch((await main.textContent())!, /[A-Z]+_[A-Z]+/, path)
  }
  await member.page.goto(`${workspace}/settings/people`)
  await main.getByRole('button', { name: 'Invite a person' }).click()
  await member.page.getByRole('button', { name: 'Create link' }).click()
  const dialog = member.page.getByRole('dialog')
  await dialog.getByText('Ask your operator for an address that other machines reach.').waitFor()
  assert.doesNotMatch((await dialog.textContent())!, /[A-Z]+_[A-Z]+/)
  member.assertClean()
}
