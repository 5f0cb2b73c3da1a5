import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { queryTables } from '../support/running.ts'
import { sharedSite } from '../support/shared-site.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

/* A list of companies that a person imports: a whole ipid, and a real browser. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined

/** As a CRM in a German Excel writes it. */
const LIST = Buffer.from(
  'Firma;Webseite;Status;Betreuer;Umsatz;Ähnlich wie\r\n' +
    'Apple;https://www.apple.com/de;Customer;Ada;1.200.000;MRR\r\n' +
    'Soon;soon.example;open deal;;~5;\r\n' +
    'Nobody;;Partner;;;\r\n',
  'latin1',
)

test('a list of companies is checked, imported, used, edited and undone', { skip, timeout: 240_000 }, async (t) => {
  if (typeof browser === 'string') return
  const { ready, origin, signInLink } = await sharedSite()
  const context = await browser.newContext()
  t.after(() => context.close())
  const { page, assertClean, assertAccessible } = await openWatched(context, origin)
  const tenant = ready.tenant_id!
  const sent = await fetch(`${ready.url}/v1/ingest`, {
    method: 'POST',
    headers: { 'x-api-key': ready.api_key!, 'content-type': 'application/json' },
    body: JSON.stringify({ events: [{ ip: '17.0.0.1', event_id: 'import-1' }] }),
  })
  assert.equal(sent.status, 200)
  await until(
    async () => (await queryTables(ready, "SELECT count() FROM events WHERE event_id = 'import-1'")).trim() === '1',
  )
  await page.goto(await signInLink())
  await page.goto(`${origin}/t/${tenant}/companies?when=all`)
  await page.getByRole('link', { name: 'Import' }).click()
  await page.getByText('There are none yet.').waitFor()
  await assertAccessible()

  const choose = () => page.setInputFiles('input[type=file]', { name: 'crm.csv', mimeType: '', buffer: LIST })
  await choose()
  const column = (name: string) =>
    page.getByRole('group', { name: 'Columns of the list' }).getByLabel(name, { exact: true })
  await page.getByText(/companies would change/).waitFor()
  const guessed = ['Firma', 'Webseite', 'Status', 'Betreuer', 'Umsatz', 'Ähnlich wie'].map((name) =>
    column(name).inputValue(),
  )
  assert.deepEqual(await Promise.all(guessed), ['name', 'domain', 'status', 'owner', 'text', 'text'])
  await column('Umsatz').selectOption('number')
  await page.getByText('2 companies would change: 5 values.').waitFor()
  const table = (name: string) => page.getByRole('table', { name })
  await table('Companies that change').getByText('1,200,000').waitFor()
  await table('Rows that cannot be used').getByText('no company with this name has visited yet').waitFor()
  await table('Values that cannot be used').getByText('“~5” is no number').waitFor()
  await column('Webseite').selectOption('')
  await column('Firma').selectOption('')
  await page.getByText('Choose above which column is the domain or website').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled(), true)
  await column('Webseite').selectOption('domain')
  await column('Firma').selectOption('name')
  await page.getByText('2 companies would change: 5 values.').waitFor()
  await assertAccessible()
  for (const width of [390, 1024]) {
    await page.setViewportSize({ width, height: 900 })
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    assert.equal(overflow, 0, `nothing is wider than ${width} px`)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
  // By keyboard.
  await page.getByRole('button', { name: 'Import: change 2 companies' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('2 companies have new facts: 5 values').waitFor()
  await page.getByRole('cell', { name: 'Umsatz' }).waitFor()
  await assertAccessible()

  await choose()
  await page.getByText('Nothing would change: everything that can be used is known already.').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.reload()

  // The list filters by them.
  await page.goto(`${origin}/t/${tenant}/companies?when=all&show=status,own.umsatz`)
  const row = page.getByRole('table', { name: 'Companies' }).locator('tbody tr')
  await row.getByText('customer', { exact: true }).waitFor()
  await row.getByText('1,200,000').waitFor()
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Umsatz' }).click()
  await page.getByLabel('Umsatz, at least').fill('2000000')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('No company matches').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('own'), 'umsatz>=2000000')
  await page.getByRole('button', { name: 'Clear Umsatz' }).click()
  await assertAccessible()

  // The page of a company edits them.
  await row.getByRole('link', { name: 'Apple' }).click()
  const what = page.getByRole('region', { name: 'What it is' })
  await what.getByRole('link', { name: 'apple.com' }).waitFor()
  const owner = what.getByRole('button', { name: 'Ada (edit owner)' })
  await owner.press('Enter')
  await page.keyboard.type('Bob')
  await assertAccessible()
  await page.keyboard.press('Escape')
  await owner.waitFor()
  assert.equal(await page.evaluate<string>('document.activeElement.textContent'), 'Ada (edit owner)')
  await what.getByRole('button', { name: 'customer (edit status)' }).click()
  await what.getByRole('combobox', { name: 'Status' }).fill('past customer')
  await page.keyboard.press('Enter')
  await what.getByRole('button', { name: 'past customer (edit status)' }).waitFor()
  await what.getByRole('button', { name: '1,200,000 (edit Umsatz)' }).click()
  await what.getByLabel('Umsatz').fill('much')
  await what.getByRole('button', { name: 'Save' }).click()
  await what.getByText('Umsatz: “much” is no number').waitFor()
  await what.getByLabel('Umsatz').fill('7')
  await what.getByRole('button', { name: 'Save' }).click()
  await what.getByRole('button', { name: '7 (edit Umsatz)' }).waitFor()
  for (const [width, isBeside] of [
    [1024, true],
    [390, false],
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    const [left, right] = await Promise.all(
      [what, page.getByRole('region', { name: 'Sessions', exact: true })].map((part) => part.boundingBox()),
    )
    assert.equal(left!.x + left!.width <= right!.x, isBeside, `${width}`)
    assert.ok(isBeside || left!.y < right!.y, 'what it is comes first')
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
  }
  await page.setViewportSize({ width: 1280, height: 720 })
  // People who only read see the values without controls.
  await page.route('**/api/session', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), role: 'viewer' } })
  })
  await page.reload()
  await what.getByText('past customer', { exact: true }).waitFor()
  await what.getByText('7', { exact: true }).waitFor()
  assert.equal(await what.getByRole('button').count(), 0)
  await page.unrouteAll({ behavior: 'wait' })
  await assertAccessible()

  // A removed column comes back by an undo.
  await page.goto(`${origin}/t/${tenant}/companies/import`)
  await page.getByRole('button', { name: 'Remove Umsatz' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove column' }).click()
  await page.getByText('The column Umsatz was removed.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('cell', { name: 'Umsatz' }).waitFor()
  // Of the value that is no number.
  assertClean([422])
})
