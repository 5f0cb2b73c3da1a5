import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedChromium } from '../support/chromium.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runSql } from '../support/fetch-clickhouse.ts'
import { until } from '../support/until.ts'

/* ClickHouse's own page, in a real browser, on the port of the embedded ClickHouse. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined

const DROP = Buffer.from('DROP TABLE workspace.kept').toString('base64')

test('/play runs typed statements, and none from its URL', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const { analystUrl } = await startTestClickHouse(t)
  const { origin, username, password } = new URL(analystUrl)
  await runSql(analystUrl, 'CREATE TABLE workspace.kept (a UInt8) ENGINE = MergeTree ORDER BY a')
  const context = await browser.newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  const asked: string[] = []
  const answered: string[] = []
  const errors: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).origin))
  page.on('response', (response) => answered.push(response.request().postData() ?? ''))
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) errors.push(message.text())
  })

  await page.goto(`${origin}/play`)
  await page.locator('#user').fill(username)
  await page.locator('#password').fill(password)
  await page.locator('#query').fill("SELECT 'seen by ' || 'the page' AS word, 6 * 7 AS number")
  await page.locator('#run').click()
  await page.getByText('seen by the page').first().waitFor()
  await page.getByText('42').first().waitFor()
  await page.locator('#query').fill('SELECT nothing')
  await page.locator('#run').click()
  await page.getByText('UNKNOWN_IDENTIFIER').first().waitFor()
  await page.goto(`${origin}/play?run=1#${DROP}`)
  await until(() => answered.includes('DROP TABLE workspace.kept'))
  assert.equal(await runSql(analystUrl, "SELECT count() FROM system.tables WHERE name = 'kept'"), '1\n')
  assert.deepEqual(errors, [])
  assert.deepEqual([...new Set(asked.filter((other) => other !== 'null'))], [origin])
})
