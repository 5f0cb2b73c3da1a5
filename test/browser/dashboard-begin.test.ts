import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { runSql } from '../support/fetch-clickhouse.ts'
import { readMail } from '../support/mail.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

/* The first hour of a person from marketing, without a shell: a whole ipid, a real browser, and a server of SMTP. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'begin'
const PHONE = { width: 390, height: 844 }

test('a new workspace is connected, seen, cleaned and shared on its pages', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { ready, origin, smtp } = shared
  await ran(shared, 'tenant', 'create', TENANT)
  const { page, assertAccessible, assertClean } = await openAsMember(t, browser, shared, {
    ...{ tenant: TENANT, name: 'Mona Marketing' },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const main = page.getByRole('main')
  /** Opens a step of the list, if it is not the open one. */
  const open = async (title: string) => {
    const summary = main.locator('summary').filter({ hasText: title })
    if (!(await summary.evaluate('summary => summary.parentElement.open'))) await summary.click()
  }
  const at = (path: string, tenant = TENANT) => `${origin}/t/${tenant}/${path}`
  const mails = (to: string) => smtp.mails.map(readMail).filter((mail) => mail.to.includes(to))
  const step = stepsOf(t)
  let script = ''

  await step('the list asks for the address of ipid, and does not guess it', async () => {
    await page.goto(at('home'))
    await main.getByRole('heading', { name: 'First steps' }).waitFor()
    await main.getByText('0 of 5 done').waitFor()
    const address = main.getByLabel('Address at which your visitors’ browsers reach ipid')
    assert.equal(await address.inputValue(), '')
    await assertAccessible()
    await address.fill('https://ipid.example.com/path')
    await main.getByRole('button', { name: 'Show my line of code' }).click()
    await main.getByText('must be https://host or http://host:port').waitFor()
    await address.fill(ready.url)
    await main.getByRole('button', { name: 'Show my line of code' }).click()
    await main.getByText('1 of 5 done').waitFor()
  })

  await step('the line stands alone, is copied, and exists for each way to make a site', async () => {
    const opened = main.getByText('Connect your website')
    await opened.click()
    const line = main.getByLabel('In the head of every page')
    script = await line.inputValue()
    assert.match(script, new RegExp(`^<script async src="${ready.url}/s/web/pub_[0-9a-f]{40}\\.js"></script>$`))
    await main.getByRole('button', { name: 'Copy' }).click()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), script)
    await main.getByText('can be reached from this machine or network only').waitFor()
    const src = /src="([^"]+)"/.exec(script)![1]!
    for (const [name, part] of [
      ['GTM', `script.src = '${src}'`],
      ['WordPress', `wp_enqueue_script( 'ipid', '${src}'`],
      ['Next.js', `<Script src="${src}" />`],
    ] as const) {
      await main.getByText(name, { exact: true }).click()
      await main.getByText(part).waitFor()
    }
    await main.getByText('Shopify', { exact: true }).click()
    assert.equal(await main.getByRole('textbox', { name: /^Shopify/ }).inputValue(), script)
    const href = (await main.getByRole('link', { name: 'Send to my developer' }).getAttribute('href'))!
    assert.ok(decodeURIComponent(href).startsWith('mailto:?subject='))
    assert.ok(decodeURIComponent(href).includes(`\r\n${script}\r\n`))
    await assertAccessible()
    await page.setViewportSize(PHONE)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, 'nothing is cut off')
    await page.setViewportSize({ width: 1280, height: 720 })
  })

  await step('a visit from the own machine is reported as received and left out, with the reason', async () => {
    await page.reload()
    await main.getByText('Waiting for the first page view…').waitFor()
    const visitor = await browser.newContext()
    t.after(() => visitor.close())
    const site = await visitor.newPage()
    const server = createServer((_, answer) => {
      answer.setHeader('content-type', 'text/html')
      answer.end(`<!doctype html><head>${script}</head><p>Prices</p>`)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    await site.goto(`http://${host}/pricing`)
    await main.getByText('2 of 5 done').waitFor()
    await main.getByText('See the first visit').click()
    await main.getByText(`The visit of ${host}/pricing from 127.0.0.1 was received and left out`).waitFor()
    await main.getByText('because 127.0.0.1 is your own machine').waitFor()
    await assertAccessible()
  })

  await step('the office is left out by a rule of the tenant', async () => {
    await open('Leave out your own office')
    const field = main.getByLabel('Address or network of your office')
    await field.fill('not an address')
    await main.getByRole('button', { name: 'Leave it out' }).click()
    await main.getByText('must be a network like').waitFor()
    await field.fill('203.0.113.0/24')
    await main.getByRole('button', { name: 'Leave it out' }).click()
    await main.getByText('3 of 5 done').waitFor()
    assert.match(await ran(shared, 'rules', 'list', TENANT), /own\s+203\.0\.113\.0\/24/)
  })

  await step('a colleague is invited by a mail that says who invites and to what, and reads only', async () => {
    await open('Invite your colleagues')
    await main.getByRole('button', { name: 'Invite a person' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Vera Viewer')
    await page.getByLabel('E-mail address (optional)').fill('Vera@site.example')
    await page.getByLabel('They may').selectOption('viewer')
    await assertAccessible()
    await page.getByRole('button', { name: 'Send invitation' }).click()
    await page.getByText('The invitation was mailed to Vera@site.example').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await main.getByText('4 of 5 done').waitFor()
    const [mail] = mails('Vera@site.example')
    assert.equal(mail!.subject, `Mona Marketing invites you to ${TENANT} on ipid`)
    assert.match(mail!.text, /a viewer, who reads/)
    const guest = await browser.newContext()
    t.after(() => guest.close())
    const invited = await openWatched(guest, origin)
    await invited.page.goto(mail!.text.split('\n').find((line) => line.startsWith('http'))!)
    await invited.page.getByRole('heading', { name: `Mona Marketing invites you to ${TENANT}` }).waitFor()
    await invited.page.getByText('a viewer, who reads').waitFor()
    assert.equal(await invited.page.getByRole('button').count(), 1)
    await invited.assertAccessible()
  })

  await step('the list stays after a reload, and is closed for good with a way back', async () => {
    await page.reload()
    await main.getByText('4 of 5 done').waitFor()
    await main.getByRole('button', { name: 'Close the list' }).click()
    await main.getByRole('button', { name: 'Show the first steps' }).waitFor()
    await page.reload()
    await main.getByRole('button', { name: 'Show the first steps' }).click()
    await main.getByText('4 of 5 done').waitFor()
  })

  await step('sample data fill every page while their switch is on, say so, and change nothing', async () => {
    await main.getByRole('button', { name: 'Look around with sample data' }).click()
    await page.waitForURL(at('home', 'sample-data'))
    await main.getByRole('heading', { name: 'Sample data', exact: true }).waitFor()
    await main.getByRole('heading', { name: 'Five to look at today' }).waitFor()
    await assertAccessible()
    for (const name of ['Companies', 'Pages', 'Alerts', 'Exports', 'Live', 'Sources', 'Settings']) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click()
      await main.getByRole('heading', { name: 'Sample data', exact: true }).first().waitFor()
    }
    assert.equal(await page.getByRole('link', { name: 'Uploads' }).count(), 0)
    await page.goto(at('companies', 'sample-data'))
    await main.getByRole('row').nth(5).waitFor()
    await assertAccessible()
    await page.getByLabel('Show sample data').uncheck()
    await page.waitForURL(at('companies'))
    await main.getByText('Companies that visit your website appear here').waitFor()
    assert.equal(await main.getByRole('heading', { name: 'Sample data', exact: true }).count(), 0)
    await page.getByLabel('Show sample data').check()
    await page.waitForURL(at('companies', 'sample-data'))
  })

  await step('sample data are removed from a page, with their events', async () => {
    const isGone = async () => !(await ran(shared, 'tenant', 'list')).includes('sample-data')
    const stored = async () => {
      const tables = ['events', 'accounts', 'outcomes']
        .map((name) => `SELECT tenant_id FROM ${name}`)
        .join(' UNION ALL ')
      return Number(await runSql(ready.tables_url, `SELECT count() FROM (${tables}) WHERE tenant_id = 'sample-data'`))
    }
    const remove = async () => {
      assert.ok((await stored()) > 1_000)
      await main.getByRole('button', { name: 'Remove sample data' }).click()
      await page.waitForURL(at('home'))
      await page.getByText('The sample data are removed').waitFor()
      await page.getByLabel('Show sample data').waitFor({ state: 'detached' })
      await until(isGone)
      assert.equal(await stored(), 0)
    }
    await remove()
    await page.goto(at('home', 'sample-data'))
    await main.getByText('There is no workspace sample-data').first().waitFor()
    await page.goto(at('settings'))
    await main.getByRole('button', { name: 'Look around with sample data' }).click()
    await main.getByRole('heading', { name: 'Five to look at today' }).waitFor()
    await remove()
  })

  await step('a person without a session asks for a link by e-mail, and it works once', async () => {
    const context = await browser.newContext()
    t.after(() => context.close())
    const guest = await openWatched(context, origin)
    await guest.page.goto(at('companies'))
    await guest.page.getByRole('heading', { name: 'See which companies visit your website' }).waitFor()
    assert.ok(!(await guest.page.getByLabel('Command for a sign-in link').isVisible()), 'the command is for operators')
    await guest.assertAccessible()
    const before = smtp.mails.length
    const ask = async (address: string) => {
      await guest.page.getByLabel('Your e-mail address').fill(address)
      await guest.page.getByRole('button', { name: 'Mail me a link' }).click()
      await guest.page.getByText(`If ${address} belongs to somebody here, a link is on its way`).waitFor()
      await guest.page.getByRole('button', { name: 'Use another address' }).click()
    }
    await ask('nobody@site.example')
    await ask('vera@site.example')
    await until(() => smtp.mails.length > before)
    const [mail, ...more] = smtp.mails.slice(before).map(readMail)
    assert.equal(more.length, 0, 'nobody else gets a mail')
    assert.equal(mail!.subject, 'Your sign-in link for ipid')
    assert.match(mail!.text, /workspace begin, as Vera Viewer/)
    const link = mail!.text.split('\n').find((line) => line.startsWith('http'))!
    await guest.page.goto(link)
    await guest.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await guest.page.waitForURL(at('companies'))

    // A viewer reads, and finds nothing that would be refused.
    const reader = guest.page.getByRole('main')
    await guest.page.goto(at('alerts'))
    await reader.getByText('There is no alert yet').waitFor()
    assert.equal(await reader.getByRole('link', { name: 'New alert' }).count(), 0)
    await guest.page.goto(at('settings/people'))
    await reader.getByText('Your role does not open it').waitFor()
    await guest.page.goto(at('settings/rules'))
    assert.equal(await reader.getByRole('link', { name: /^(People|API keys)$/ }).count(), 0)
    await reader.getByText('You may read this, but not change it').waitFor()
    assert.ok(await reader.getByRole('button', { name: 'Add rule' }).isDisabled())
    await guest.assertAccessible()

    await page.goto(at('settings/people'))
    await page.getByLabel('Role of Vera Viewer').selectOption('member')
    await page.getByText('Vera Viewer is a member now').waitFor()
    await assertAccessible()
    await guest.page.reload()
    await until(() => reader.getByRole('button', { name: 'Add rule' }).isEnabled())
    const again = await fetch(link, { redirect: 'manual' })
    assert.equal(again.headers.get('location'), '/?sign-in=failed')
    guest.assertClean([401])
  })
  assertClean([403, 404, 422])
})
