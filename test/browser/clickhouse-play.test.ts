import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'

/* ClickHouse's own page, in a real browser, on the port of the embedded engine. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined

const DROP = Buffer.from('DROP TABLE ipid.kept').toString('base64')

test('/play runs typed statements, and none from its URL', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const { url, rows } = await startTestClickHouse(t)
  await fetchClickHouse(
    url,
    { database: 'ipid' },
    { body: 'CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a' },
  )
  const context = await browser.newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  const asked: string[] = []
  const errors: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).origin))
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) errors.push(message.text())
  })

  await page.goto(`${url}/play?run=1#${DROP}`)
  assert.equal(new URL(page.url()).search, '')
  await page.locator('#query').fill("SELECT 'seen by ' || 'the page' AS word, 6 * 7 AS number")
  await page.locator('#run').click()
  await page.getByText('seen by the page').first().waitFor()
  await page.getByText('42').first().waitFor()
  await page.locator('#query').fill('SELECT nothing')
  await page.locator('#run').click()
  await page.getByText('UNKNOWN_IDENTIFIER').first().waitFor()

  assert.deepEqual(errors, [])
  assert.deepEqual([...new Set(asked.filter((origin) => origin !== 'null'))], [url])
  assert.deepEqual(await rows("SELECT name FROM system.tables WHERE name = 'kept'"), [{ name: 'kept' }])
})
