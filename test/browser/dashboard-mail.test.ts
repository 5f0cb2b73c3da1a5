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
  const before = smtp.mails.length
  const mail = async (n: number) => {
    await until(() => smtp.mails.length >= before + n)
    return readMail(smtp.mails[before + n - 1]!)
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
  assert.equal(smtp.mails.length, before + 2)

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

test('a digest is subscribed on its page, sent, and ended by the link of the mail', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const [shared, tenant, address] = [await sharedSite(), 'digest', 'bo@site.example']
  const { ready, origin, smtp } = shared
  await ran(shared, 'tenant', 'create', tenant)
  const { key } = JSON.parse(await ran(shared, 'key', 'create', tenant, '--json')) as { key: string }
  const events = [{ ip: COMPANY_IP, timestamp: new Date(Date.now() - 2 * 86_400_000).toISOString() }]
  const response = await fetch(`${ready.url}/v1/ingest`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ events }),
  })
  assert.equal(response.status, 200)
  await ran(shared, 'segment', 'create', tenant, 'Callers', '--where', 'visits>=1,days=7')
  const [context, reader] = [await browser.newContext(), await browser.newContext()]
  t.after(() => Promise.all([context.close(), reader.close()]).then(() => {}))
  const { page, assertAccessible, assertClean } = await openWatched(context, origin)
  const visited = await openWatched(reader, origin)
  await page.goto(await shared.signInLink())
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  const main = page.getByRole('main')
  const before = smtp.mails.length
  const mail = async (n: number) => {
    await until(() => smtp.mails.length >= before + n)
    return readMail(smtp.mails[before + n - 1]!).text
  }
  /** Opens a link of a mail, without a session. */
  const open = async (text: string, path: string) => {
    await visited.page.goto(new RegExp(`http\\S+/${path}\\?\\S+`).exec(text)![0])
    await visited.page.getByText(address).first().waitFor()
    await visited.assertAccessible()
  }

  await page.goto(`${origin}/t/${tenant}/companies`)
  await main.getByText('1 company', { exact: true }).waitFor()
  await page.goto(`${origin}/t/${tenant}/alerts`)
  await main.getByRole('link', { name: 'Digest' }).click()
  await main.getByLabel('E-mail address').fill(address)
  await main.getByText('Every day', { exact: true }).click()
  await main.getByRole('button', { name: 'Subscribe' }).click()
  const row = main.getByRole('row').filter({ hasText: address })
  await row.getByText('not confirmed', { exact: true }).waitFor()
  await assertAccessible()
  await open(await mail(1), 'confirm')
  await visited.page.getByRole('button', { name: 'Confirm the address' }).click()
  await visited.page.getByText(`${address} is confirmed`).waitFor()

  await page.reload()
  await row.getByText('on', { exact: true }).waitFor()
  await row.getByText('Every day at 08:00').waitFor()
  await main.getByRole('button', { name: `Actions for ${address}` }).click()
  await page.getByRole('menuitem', { name: 'Send one now' }).click()
  const digest = await mail(2)
  assert.match(digest, /^1 company visited from .*\n\nTo look at today\n\n\S.* is new: 1 visit\.\nhttp/)
  await page.goto(/http\S+companies\/of\S+/.exec(digest)![0])
  await main.getByRole('heading', { level: 1 }).waitFor()

  await page.goto(`${origin}/t/${tenant}/alerts/digest`)
  await main.getByLabel('E-mail address').fill(address)
  await main.getByLabel('Which companies').selectOption('Callers')
  await main.getByRole('button', { name: 'Subscribe' }).click()
  const other = row.filter({ hasText: 'Callers' })
  await other.getByText('on', { exact: true }).waitFor()
  await other.getByRole('button', { name: `Actions for ${address}` }).click()
  await page.getByRole('menuitem', { name: 'Send one now' }).click()
  const ofSegment = await mail(3)
  assert.match(ofSegment, /^1 company of the segment Callers visited/)
  await page.goto(/All companies of the segment Callers: (http\S+)/.exec(ofSegment)![1]!)
  await main.getByRole('heading', { level: 1, name: 'Callers' }).waitFor()
  assert.deepEqual(new URL(page.url()).searchParams.getAll('visits'), ['1'])
  await page.goto(`${origin}/t/${tenant}/companies/segment?id=gone`)
  await main.getByText('This segment is gone').waitFor()
  await assertAccessible()

  await open(digest, 'unsubscribe')
  await visited.page.getByRole('button', { name: 'Unsubscribe' }).click()
  await visited.page.getByText(`${address} gets no more of these mails`).waitFor()
  await visited.assertAccessible()
  await page.goto(`${origin}/t/${tenant}/alerts/digest`)
  await other.waitFor()
  assert.equal(await row.count(), 1)
  assertClean()
  visited.assertClean()
})
