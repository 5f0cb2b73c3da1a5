import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ListedSegment } from '../../schemas/dashboard/segments.ts'
import { sharedChromium } from '../support/chromium.ts'
import { readMail } from '../support/mail.ts'
import { openAsMember, ran } from '../support/member-page.ts'
import { sharedSite } from '../support/shared-site.ts'
import { storeVisits } from '../support/stored-visits.ts'
import { until } from '../support/until.ts'

/* Scheduled exports as a member uses them: a whole ipid, and a real browser. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const TENANT = 'lists'

test('a member has the companies of a segment written every Monday, and finds the file', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const shared = await sharedSite()
  const { site, ready, origin, smtp } = shared
  const run = (...args: string[]) => ran(shared, ...args)
  await run('tenant', 'create', TENANT)
  await storeVisits(ready.tables_url, TENANT)
  const { page, assertAccessible, assertClean } = await openAsMember(t, browser, shared, {
    tenant: TENANT,
    name: 'Ada',
    timezoneId: 'Europe/Berlin',
  })
  const main = page.getByRole('main')
  const menu = async (entry: string) => {
    await main.getByRole('button', { name: 'Actions for German-list' }).click()
    await page.getByRole('menuitem', { name: entry }).click()
  }

  await t.test('the page says whom to ask for a bucket, and a new export needs a segment', async () => {
    await page.getByRole('link', { name: 'Exports' }).click()
    await main.getByText('There is no export yet').waitFor()
    await main.getByText('Ask your operator if they should go to a bucket.').waitFor()
    // Settings and the folder of the machine are for operators.
    for (const text of ['ARCHIVE_URL', site.dir]) assert.equal(await main.getByText(text).count(), 0)
    await assertAccessible()
    await main.getByRole('link', { name: 'New export' }).click()
    await main.getByText('There is no segment yet').waitFor()
    assert.ok(await main.getByRole('button', { name: 'Create export' }).isDisabled())
    await assertAccessible()
  })

  await t.test('from a segment, an export is two clicks away', async () => {
    const made = JSON.parse(
      await run('segment', 'create', TENANT, 'German list', '--where', 'country=DE', '--json'),
    ) as ListedSegment
    await page.goto(`${origin}/t/${TENANT}/companies?country=DE&when=all&segment=${made.segment_id}`)
    await main.getByRole('button', { name: 'Actions for segment German list' }).click()
    await page.getByRole('menuitem', { name: 'Export it regularly' }).click()
    const name = main.getByLabel('Name of the export')
    assert.equal(await name.inputValue(), 'German-list')
    await main.getByLabel('Time of day (UTC)').fill('05:30')
    await main.getByText(/^That is 0?[67]:30/).waitFor()
    await name.fill('two words')
    await main.getByRole('button', { name: 'Create export' }).click()
    await main.getByText('because it names a folder').waitFor()
    assert.equal(await name.getAttribute('aria-invalid'), 'true')
    await assertAccessible()
    await name.fill('German-list')
    await main.getByRole('button', { name: 'Create export' }).click()
    await main.getByRole('row').getByText('Every Monday at 05:30 (UTC)').waitFor()
    await main.getByText('none yet').waitFor()
    await assertAccessible()
  })

  await t.test('a file is written now, and shown with its size', async () => {
    await menu('Write a file now')
    const row = main.getByRole('row').filter({ hasText: 'German-list' })
    await row.getByText(/^1 company, /).waitFor()
    const file = (await row.getByText(/\.csv$/).textContent())!
    const text = await readFile(join(site.dir, 'archive', 'exports', TENANT, 'German-list', file), 'utf8')
    assert.match(text, /^\ufeffCompany,.*\r\nOld Bank,/)
    await menu('Show its files')
    const dialog = page.getByRole('dialog')
    await dialog.getByText(file).waitFor()
    await assertAccessible()
    await dialog.getByRole('button', { name: 'Close' }).click()
  })

  await t.test('its files are sent by e-mail, and a refusal shows on the page', async () => {
    const mailsTo = (address: string) => smtp.mails.filter((mail) => readMail(mail).to === address)
    const last = (address: string) => readMail(mailsTo(address).at(-1)!)
    await menu('Send by e-mail')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail address').fill('list@site.example')
    await dialog.getByRole('button', { name: 'Send files' }).click()
    await dialog.getByText('gets files once it has confirmed').waitFor()
    await assertAccessible()
    await until(() => mailsTo('list@site.example').length === 1)
    assert.equal(last('list@site.example').subject, 'Confirm this address for an export of ipid')
    await run('alert', 'confirm', TENANT, 'list@site.example')
    await dialog.getByText('Each file. The last mail was sent.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await menu('Write a file now')
    await until(() => mailsTo('list@site.example').length === 2)
    assert.match(last('list@site.example').text, /^The export German-list of lists has a new file with 1 company\./)
    assert.match(mailsTo('list@site.example').at(-1)!, /filename=German-list-/)
    smtp.refusal = 'this mailbox is full'
    await menu('Write a file now')
    await main.getByText(/The mail to list@site.example failed and is tried again: .*this mailbox is full/).waitFor()
    await assertAccessible()
    smtp.refusal = undefined
    await menu('Send by e-mail')
    await dialog.getByRole('button', { name: 'Send no more' }).click()
    await dialog.getByText('list@site.example', { exact: true }).waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Close' }).click()
  })

  await t.test('it is paused, resumed and removed, and its segment is kept until then', async () => {
    await menu('Pause')
    await main.getByText('paused', { exact: true }).waitFor()
    await menu('Resume')
    await main.getByText('on', { exact: true }).waitFor()
    await main.getByRole('link', { name: 'German list' }).click()
    await main.getByRole('button', { name: 'Actions for segment German list' }).click()
    await page.getByRole('menuitem', { name: 'Remove segment' }).click()
    await page.getByRole('button', { name: 'Remove segment' }).click()
    await page.getByText('the export German-list needs segment German list').waitFor()
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('link', { name: 'Exports' }).click()
    await menu('Remove')
    await page.getByText('stay in exports/lists/German-list/').waitFor()
    await assertAccessible()
    await page.getByRole('button', { name: 'Remove export' }).click()
    await main.getByText('There is no export yet').waitFor()
  })
  assertClean([422])
})
