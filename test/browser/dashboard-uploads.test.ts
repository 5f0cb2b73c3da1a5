import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { sharedChromium } from '../support/chromium.ts'
import { queryTables } from '../support/running.ts'
import { sharedSite } from '../support/shared-site.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

/* Files that a person uploads in the dashboard: a whole ipid, and a real browser. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined

const LINES = 100_000

/** Records the values of the page's progress bars from now on, in percent. */
const WATCH_BARS = `
  window.seen = { transfer: [], job: [] }
  new MutationObserver(() => {
    for (const bar of document.querySelectorAll('[role=progressbar]')) {
      const values = seen[bar.getAttribute('aria-label').startsWith('Transfer') ? 'transfer' : 'job']
      const percent = 100 * bar.getAttribute('aria-valuenow') / bar.getAttribute('aria-valuemax')
      if (values.at(-1) !== percent) values.push(percent)
    }
  }).observe(document, { attributes: true, childList: true, subtree: true })`

test('files are previewed, mapped, followed to their end and cancelled', { skip, timeout: 240_000 }, async (t) => {
  if (typeof browser === 'string') return
  const { ready, origin, signInLink } = await sharedSite()
  const context = await browser.newContext()
  t.after(() => context.close())
  const { page, assertClean, assertAccessible } = await openWatched(context, origin)
  const count = async (where: string) => Number(await queryTables(ready, `SELECT count() FROM events WHERE ${where}`))
  const jobs = page.getByRole('list', { name: 'Jobs' }).locator('> li')
  const choose = (name: string, content: string | Buffer) =>
    page.setInputFiles('input[type=file]', { name, mimeType: '', buffer: Buffer.from(content) })
  const send = () => page.getByRole('button', { name: /^Upload / }).click()
  const cdp = await context.newCDPSession(page)
  const limitUploads = (bytesPerSecond: number) =>
    cdp.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: bytesPerSecond,
    })

  await page.goto(await signInLink())
  await page.goto(`${origin}/t/${ready.tenant_id}/uploads`)
  await page.getByText('No jobs in the last 7 days').waitFor()
  await page.getByText('Up to 100 MB and 1,000,000 lines per file').waitFor()
  await assertAccessible()

  // NDJSON in gzip, dropped.
  const events = ['{"ip":"17.0.0.1","event_id":"g1"}', '{"ip":"17.0.0.2","event_id":"g2","x":1.0}']
  await drop(page, 'events.ndjson.gz', gzipSync(events.join('\n')))
  await page.getByText('NDJSON, gzip').waitFor()
  await page.getByText('The first 2 rows would be stored').waitFor()
  await send()
  await jobs.getByText('completed').waitFor()
  assert.equal(await count("event_id IN ('g1', 'g2')"), 2)

  // The first company is on the screen, and no shell was needed after the start.
  await page.getByRole('link', { name: 'Companies' }).click()
  await page.getByRole('link', { name: 'Apple' }).waitFor()
  await page.getByRole('link', { name: 'Uploads' }).click()
  await jobs.getByText('completed').waitFor()

  // CSV with other column names, and one bad row.
  await choose('visits.csv', 'Visitor;Visited at;What\n17.0.0.3;2026-11-22 08:00;open\n17.0.0.4;soon;open\n')
  const column = (name: string) =>
    page.getByRole('group', { name: 'Columns of the file' }).getByLabel(name, { exact: true })
  await page.getByText('Of the first 2 rows, 1 would be stored, 1 has a problem').waitFor()
  assert.equal(await column('Visitor').inputValue(), 'ip')
  assert.equal(await column('Visited at').inputValue(), 'timestamp')
  await column('What').selectOption('event_type')
  const row = page.getByRole('table', { name: 'The first rows' }).locator('tbody tr')
  await row.getByText('"event_type":"open"').waitFor()
  const judged = /^2kept.*Apple.*business.*of the company.*"ip":"17\.0\.0\.3","timestamp":"2026-11-22T08:00:00\.000Z"/
  assert.match((await row.nth(0).textContent())!, judged)
  assert.match((await row.nth(1).textContent())!, /^3nothing.*timestamp "soon" is not a known form of date and time/)
  // Without an address there is nothing to send.
  await column('Visitor').selectOption('')
  await page.getByRole('alert').getByText('no column "ip"').waitFor()
  assert.ok(await page.getByRole('button', { name: /^Upload / }).isDisabled())
  await column('Visitor').selectOption('ip')
  await row.getByText('"event_type":"open"').waitFor()
  await assertAccessible()
  await send()
  const mapped = jobs.filter({ hasText: 'visits.csv' })
  // Bad lines are shown while a job runs, too.
  await mapped.getByText('completed').waitFor()
  await mapped.getByText('1 line was wrong').click()
  await mapped.getByText('Line 3: timestamp is not a known form of date and time').waitFor()
  const [rejected] = await Promise.all([
    page.waitForEvent('download'),
    mapped.getByRole('link', { name: 'Download rejected lines' }).click(),
  ])
  assert.match(rejected.suggestedFilename(), /^rejected-[0-9a-f-]{36}\.ndjson$/)
  assert.match(
    readFileSync(await rejected.path(), 'utf8'),
    /^\{"line":3,"code":"unreadable","detail":"timestamp [^\n]+\}\n$/,
  )
  assert.equal(await count("event_type = 'open' AND timestamp = '2026-11-22 08:00:00'"), 1)
  await assertAccessible()

  // The same file again counts only on request.
  await choose('again.csv', 'Visitor;Visited at;What\n17.0.0.3;2026-11-22 08:00;open\n17.0.0.4;soon;open\n')
  await page.getByText('Of the first 2 rows').waitFor()
  await send()
  await page.getByText('again.csv was uploaded before').waitFor()
  await page.getByRole('button', { name: 'Dismiss' }).click()
  assert.equal(await jobs.count(), 2)

  // A cancelled transfer, while another tab continues.
  const rows = Array.from({ length: LINES }, (_, i) => `17.${i >> 16}.${(i >> 8) & 255}.${i & 255},c${i}`)
  const large = `ip,event_id\n${rows.join('\n')}\n`
  // Slow enough for every step until the cancel.
  await limitUploads(50_000)
  await choose('large.csv', large)
  await page.getByText('The first 20 rows would be stored').waitFor()
  await send()
  await page.getByText(/KB a second/).waitFor()
  const other = await context.newPage()
  await other.goto(page.url())
  // A file sent by another page is known by its name, too.
  await other.getByRole('list', { name: 'Jobs' }).locator('> li').filter({ hasText: 'visits.csv' }).waitFor()
  await other.close()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('large.csv').waitFor({ state: 'detached' })
  const answer = await fetch(`${ready.url}/v1/ingest/batch`, { headers: { 'x-api-key': ready.api_key! } })
  assert.equal(((await answer.json()) as { jobs: unknown[] }).jobs.length, 2)

  // The same, to its end.
  await limitUploads(2_000_000)
  await page.evaluate(WATCH_BARS)
  await choose('large.csv', large)
  await page.getByText(/about 1[01]0,000 lines/).waitFor()
  await send()
  const whole = jobs.filter({ hasText: 'large.csv' })
  await whole.getByText('completed').waitFor({ timeout: 120_000 })
  assert.equal(await whole.locator('dd').first().textContent(), '100,000')
  const seen = (await page.evaluate('seen')) as { transfer: number[]; job: number[] }
  // The transfer is slowed down; how often the page sees the running job depends on the machine.
  assert.ok(seen.transfer.length > 2 && seen.job.length > 1, JSON.stringify(seen))
  for (const values of [seen.transfer, seen.job]) {
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
    )
  }
  assert.equal(seen.transfer.at(-1), 100)
  // One in sixteen of the made ids begins with a c, too.
  await until(
    () => count("match(event_id, '^c[0-9]+$')"),
    (rows) => rows === LINES,
  )

  // A job without kept events looks different from one with some.
  const wrong = Array.from({ length: 300 }, (_, i) => `{"ip":"17.0.0.1","session_id":"s_${i}"}`)
  await choose('sessions.ndjson', wrong.join('\n'))
  await page.getByText('20 have a problem').waitFor()
  await send()
  const useless = jobs.filter({ hasText: 'sessions.ndjson' })
  await useless.getByText('most lines wrong').waitFor()
  await useless.getByText('Most of the 300 lines were not kept: 300 rejected (session_id must be an integer)').waitFor()
  assert.equal(
    await useless.locator('details').textContent(),
    '300 lines were wrong300 lines: session_id must be an integer (first 1, 2, 3, 4, 5)',
  )
  await assertAccessible()
  assertClean()
})

async function drop(page: Page, name: string, content: Buffer): Promise<void> {
  const transfer = await page.evaluateHandle(
    `(() => {
      const transfer = new DataTransfer()
      const bytes = Uint8Array.from(atob('${content.toString('base64')}'), (char) => char.charCodeAt(0))
      transfer.items.add(new File([bytes], '${name}'))
      return transfer
    })()`,
  )
  await page.dispatchEvent('.ui-drop-zone', 'drop', { dataTransfer: transfer })
}
