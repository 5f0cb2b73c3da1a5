import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { readMail } from '../support/mail.ts'
import { ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

/* Alerts by e-mail: a whole ipid, a real browser, and a server of SMTP. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'mail'
/** An address of a company in the starter data. */
const COMPANY_IP = '17.253.144.10'

test('an alert by e-mail is tried, fires, and a refused message is shown and sent again', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, origin, smtp } = shared
  await ran(shared, 'tenant', 'create', TENANT)
  const { key } = JSON.parse(await ran(shared, 'key', 'create', TENANT, '--json')) as { key: string }
  const context = await browser.newContext()
  t.after(() => context.close())
  const { page, assertAccessible, assertClean } = await openWatched(context, origin)
  await page.goto(await shared.signInLink())
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  const main = page.getByRole('main')
  const at = (path: string) => `${origin}/t/${TENANT}/${path}`
  const mail = async (n: number) => {
    await until(() => smtp.mails.length >= n)
    return readMail(smtp.mails[n - 1]!)
  }

  await page.goto(at('alerts/new'))
  await main.getByText('E-mail', { exact: true }).click()
  await main.getByLabel('E-mail address').fill('anna@site.example')
  await main.getByText('One e-mail a week').waitFor()
  await main.getByLabel('Name of the alert').fill('Newcomers')
  await main.getByRole('button', { name: 'Create alert' }).click()
  await main.getByRole('heading', { name: 'One step is left: confirm the address' }).waitFor()
  assert.equal(await main.getByRole('button', { name: 'Send a test message' }).count(), 0)
  await assertAccessible()
  await main.getByRole('button', { name: 'Done' }).click()
  await main.getByText('not confirmed', { exact: true }).waitFor()
  await assertAccessible()
  const menu = async (entry: string) => {
    await main.getByRole('button', { name: 'Actions for Newcomers' }).click()
    await page.getByRole('menuitem', { name: entry }).click()
  }
  const linkIn = ({ text }: { readonly text: string }) => text.split('\n').find((line) => line.startsWith('http'))!
  const asked = await mail(1)
  assert.equal(asked.subject, 'Confirm this address for alerts of ipid')
  await menu('Send a link to confirm')
  assert.notEqual(linkIn(await mail(2)), linkIn(asked))
  await page.goto(at('alerts/messages'))
  await main.getByText('asks to confirm the address').first().waitFor()
  assert.equal(await main.getByRole('button', { name: /^Send/ }).count(), 0)
  await assertAccessible()

  // The receiver of the mail has no session.
  const reader = await browser.newContext()
  t.after(() => reader.close())
  const visited = await openWatched(reader, origin)
  await visited.page.goto(linkIn(asked))
  await visited.page.getByText('anna@site.example').waitFor()
  await visited.assertAccessible()
  await visited.page.getByRole('button', { name: 'Confirm the address' }).click()
  await visited.page.getByText('anna@site.example is confirmed').waitFor()
  await visited.assertAccessible()
  visited.assertClean()
  await page.goto(at('alerts'))
  await main.getByText('on', { exact: true }).waitFor()

  smtp.refusal = 'this mailbox is full'
  await menu('Send a test message')
  await page
    .getByRole('dialog')
    .getByText(/this mailbox is full/)
    .first()
    .waitFor()
  await assertAccessible()
  assert.equal(smtp.mails.length, 2)

  await page.goto(at('alerts/messages?state=failed'))
  const row = main.getByRole('row').filter({ hasText: 'Newcomers' })
  await row.getByText('failed', { exact: true }).waitFor()
  await row
    .getByText(/this mailbox is full/)
    .first()
    .waitFor()
  smtp.refusal = undefined
  await main.getByRole('button', { name: /^Send again/ }).click()
  const again = await mail(3)
  assert.deepEqual([again.from, again.to], ['ipid <ipid@site.example>', 'anna@site.example'])
  assert.match(again.subject, / is an example: this is a test of the alert$/)
  await page.goto(at('alerts/messages?state=delivered'))
  await row.filter({ hasText: 'Example' }).getByText('delivered', { exact: true }).waitFor()

  const response = await fetch(`${ready.url}/v1/ingest`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ events: [{ ip: COMPANY_IP }] }),
  })
  assert.equal(response.status, 200)
  const fired = await mail(4)
  assert.match(fired.subject, /^\S.* was seen for the first time$/)
  const link = fired.text.split('\n').find((line) => line.startsWith('http'))!
  assert.ok(fired.text.endsWith(`Alert Newcomers of ${TENANT}`), fired.text)
  await page.goto(link)
  await main
    .getByRole('heading', { level: 1, name: fired.subject.replace(' was seen for the first time', '') })
    .waitFor()
  assertClean()
})
