import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BrowserContext } from 'playwright-core'
import { EnvelopeState, identityOf } from '../../src/pipeline/event/envelope.ts'
import { withResolvers } from '../../src/run/with-resolvers.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { sharedChromium } from '../support/chromium.ts'
import { writeLetter } from '../support/dead-letters.ts'
import { asnMmdb } from '../support/enrichment-data.ts'
import { eventRows } from '../support/event-rows.ts'
import { quiet } from '../support/pipeline.ts'
import { queryTables } from '../support/running.ts'
import { startSentinelSet } from '../support/sentinel.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

/* Live views as people see them: events as they arrive, the system, dead letters. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const PAGE = 'https://www.shop.example/pricing?utm_source=x'
/** All columns of Live fit. */
const WIDE = { viewport: { width: 1_600, height: 900 } }

test('events and the system are shown live, and dead letters are decided', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const site = new TestSite(t)
  const enrichDir = join(site.dir, '..', 'tables')
  mkdirSync(enrichDir)
  writeFileSync(join(enrichDir, 'asn.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Example University'] }))
  site.env.ENRICH_DIR = enrichDir
  const started = site.start()
  const ready = (await started.ready()) as Awaited<ReturnType<typeof started.ready>> & { dashboard_url: string }
  const origin = new URL(ready.dashboard_url).origin
  const send = async (key: string, type: string, ...ips: string[]) => {
    const events = ips.map((ip) => ({ ip, event_type: type, url: PAGE, properties: { title: 'Plans and prices' } }))
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const answer = await fetch(`${ready.url}/v1/ingest`, { method: 'POST', headers, body: JSON.stringify({ events }) })
    assert.equal(answer.status, 200, await answer.text())
  }
  const context = await browser.newContext(WIDE)
  t.after(() => context.close())
  const operator = await openWatched(context, origin)
  const { page } = operator
  await page.goto(ready.dashboard_url)

  await page.goto(`${origin}/t/demo/live`)
  await page.getByRole('heading', { name: 'Events appear here as they arrive' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Pause' }).count(), 0, 'without an event nothing is paused')
  assert.equal(await page.getByRole('main').getByRole('searchbox').count(), 0, 'and nothing is filtered')
  await operator.assertAccessible()
  await checkFirstRead(context, origin)
  const rows = page.getByRole('row')
  await until(async () => {
    await send(ready.api_key!, 'page_view', '8.8.8.8', '81.2.0.7', '10.0.0.1', 'nonsense')
    return (await rows.filter({ hasText: 'nonsense' }).count()) > 0
  })
  const text = async (has: string) => (await rows.filter({ hasText: has }).first().textContent()) ?? ''
  assert.match(
    await text('81.2.0.7'),
    /Example University.*Plans and prices www\.shop\.example\/pricing.*kept.*education.*page_view81\.2\.0\.7\d/,
  )
  assert.match(await text('10.0.0.1'), /filtered.*reserved.*a private or reserved address/)
  assert.match(await text('nonsense'), /invalid IP.*no IP address that can be read/)
  await operator.assertAccessible()
  // Only the kept one has a company to look at.
  assert.equal(await rows.filter({ hasText: '10.0.0.1' }).getByRole('link').count(), 0)
  const company = rows.filter({ hasText: '81.2.0.7' }).first().getByRole('link', { name: 'Example University' })
  const [shown] = await Promise.all([context.waitForEvent('page'), company.click({ modifiers: ['ControlOrMeta'] })])
  await shown.getByRole('heading', { level: 1, name: 'Example University' }).waitFor()
  await shown.close()

  await page.getByRole('radio', { name: 'Filtered' }).check()
  await until(async () => (await rows.filter({ hasText: 'nonsense' }).count()) === 0)
  assert.ok((await rows.filter({ hasText: '10.0.0.1' }).count()) > 0 && page.url().includes('status=filtered'))
  await page.getByRole('radio', { name: 'All' }).check()
  await page.getByLabel('Company, page, type, address or reason').fill('university')
  await until(async () => (await rows.filter({ hasText: '10.0.0.1' }).count()) === 0)
  assert.ok((await rows.filter({ hasText: 'Example University' }).count()) > 0)
  await page.getByLabel('Company, page, type, address or reason').fill('no such event')
  await page.getByText('No event matches').waitFor()
  await operator.assertAccessible()
  await page.getByRole('button', { name: 'Remove Search: no such event' }).click()

  await page.getByRole('button', { name: 'Pause' }).click()
  await send(ready.api_key!, 'while_paused', ...Array<string>(100).fill('81.2.0.7'))
  await page.getByText(/^Paused; 1\d\d came meanwhile/).waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await until(async () => {
    await send(ready.api_key!, 'behind_it', '81.2.0.7')
    return (await rows.filter({ hasText: 'behind_it' }).count()) > 0
  })
  assert.equal(await rows.filter({ hasText: 'while_paused' }).count(), 0)

  // Another tenant, and a member of it.
  await site.ipid('tenant', 'create', 'other')
  const { key: otherKey } = JSON.parse((await site.ipid('key', 'create', 'other', '--json')).stdout) as { key: string }
  const otherContext = await browser.newContext(WIDE)
  t.after(() => otherContext.close())
  const member = await openWatched(otherContext, origin)
  await member.page.goto((await site.ipid('dashboard', 'link', 'other', '--name', 'Ann')).stdout.trim())
  await member.page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await member.page.goto(`${origin}/t/other/live`)
  await member.page.getByRole('heading', { name: 'Events appear here as they arrive' }).waitFor()
  const theirs = member.page.getByRole('row')
  await until(async () => {
    await send(ready.api_key!, 'of_demo', '81.2.0.7')
    await send(otherKey, 'of_other', '81.2.0.7')
    return (
      (await theirs.filter({ hasText: 'of_other' }).count()) > 0 &&
      (await rows.filter({ hasText: 'of_demo' }).count()) > 0
    )
  })
  assert.equal(await theirs.filter({ hasText: 'of_demo' }).count(), 0)
  assert.equal(await rows.filter({ hasText: 'of_other' }).count(), 0)
  for (const [path, status] of [
    ['/api/tenants/demo/live', 404],
    ['/api/system/live', 403],
    ['/api/dead-letters', 403],
  ] as const) {
    assert.equal((await otherContext.request.get(origin + path)).status(), status, path)
  }
  assert.equal(await member.page.getByRole('link', { name: 'System' }).count(), 0)
  for (const path of ['/system', '/system/dead-letters', '/system/dead-letters/1-1', '/tenants']) {
    await member.page.goto(origin + path)
    await member.page.getByRole('heading', { name: 'This page is for operators' }).waitFor()
  }
  member.assertClean()

  // The system.
  await page.goto(`${origin}/system`)
  const figure = (title: string) => page.locator('.ui-stat', { hasText: title }).locator('.ui-stat-value')
  const stored = Number(await figure('Events stored, last minute').textContent())
  await until(async () => {
    await send(ready.api_key!, 'more', '81.2.0.7', '81.2.0.8')
    return Number(await figure('Events stored, last minute').textContent()) > stored
  })
  for (const words of ['Queues', 'Data sets', 'Processes']) await page.getByRole('heading', { name: words }).waitFor()
  await page.getByRole('row', { name: /^asn \w+ MaxMind/ }).waitFor()
  await operator.assertAccessible()

  // Dead letters.
  const redis = quiet(connectRedis(ready.redis_url, { name: 'test', kind: 'loop' }))
  t.after(() => redis.disconnect())
  const of = { tenant_id: 'demo', company_id: 'example.org', session_id: '' }
  for (const id of ['letter-1', 'letter-2']) {
    const row = eventRows([{ ...of, event_id: id }])
      .toString()
      .trimEnd()
    await writeLetter(redis, { identity: identityOf('demo', id), state: EnvelopeState.Enriched, row }, undefined)
  }
  await until(async () => (await figure('Dead letters').textContent()) === '2')
  await page.getByRole('link', { name: 'show, retry or discard' }).click()
  await rows.filter({ hasText: 'letter-2' }).waitFor()
  await operator.assertAccessible()
  await rows.filter({ hasText: 'letter-1' }).getByRole('link').click()
  await page.getByRole('heading', { name: 'Why it failed' }).waitFor()
  await page.getByText('letter-1', { exact: true }).waitFor()
  await operator.assertAccessible()
  await page.getByRole('button', { name: 'Retry' }).click()
  await until(async () => (await rows.count()) === 2)
  await page.getByLabel('Part of the reason').fill('no such reason')
  await page.getByText('No dead letter matches this reason').waitFor()
  await page.getByLabel('Part of the reason').fill('tes')
  await rows.filter({ hasText: 'letter-2' }).waitFor()
  await page.getByRole('button', { name: 'Retry all of these…' }).click()
  await page.getByRole('heading', { name: 'Retry every dead letter whose reason has “tes”?' }).waitFor()
  await operator.assertAccessible()
  await page.getByRole('button', { name: 'Leave them' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  assert.equal(await rows.filter({ hasText: 'letter-1' }).count(), 0)

  await rows.filter({ hasText: 'letter-2' }).getByRole('link').click()
  await page.getByRole('button', { name: 'Discard…' }).click()
  await page.getByRole('button', { name: 'Keep it' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Discard…' }).click()
  await operator.assertAccessible()
  await page.getByRole('button', { name: 'Discard', exact: true }).click()
  await page.getByText('No dead letters: every event was processed').waitFor()
  const query = "SELECT event_id FROM events WHERE event_id LIKE 'letter-%'"
  assert.equal(await until(() => queryTables(ready, query)), 'letter-1')
  operator.assertClean()

  // Streams are open on two pages.
  await page.goto(`${origin}/system`)
  await figure('Dead letters').waitFor()
  started.child.kill('SIGTERM')
  assert.equal((await started.ended).code, 0)
  assert.ok(!started.stderr().includes('requests were cut off') && !started.stdout().includes('requests were cut off'))
})

/** Live without an event says that it loads, and why it could not. */
async function checkFirstRead(context: BrowserContext, origin: string): Promise<void> {
  const { page, assertClean } = await openWatched(context, origin)
  const main = page.getByRole('main')
  const answered = withResolvers()
  await page.route('**/companies/version', async (route) => {
    await answered.promise
    await route.fulfill({ status: 503, json: { detail: 'the answer took too long' } })
  })
  await page.goto(`${origin}/t/demo/live`)
  await main.getByRole('status').getByText('Loading').waitFor()
  answered.resolve()
  await main.getByText('The answer took too long.').waitFor()
  await page.unroute('**/companies/version')
  await main.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'Events appear here as they arrive' }).waitFor()
  assert.equal(await main.getByRole('alert').count(), 0)
  assertClean([503])
  await page.close()
}

test('the System page shows the Redis that Sentinel names, and follows a fail-over', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const set = await startSentinelSet(t)
  const site = new TestSite(t)
  site.env.REDIS_URL = set.url('?waitReplicas=1')
  const started = site.start()
  const ready = (await started.ready()) as Awaited<ReturnType<typeof started.ready>> & { dashboard_url: string }
  const context = await browser.newContext()
  t.after(() => context.close())
  const operator = await openWatched(context, new URL(ready.dashboard_url).origin)
  const { page } = operator
  await page.goto(ready.dashboard_url)
  await page.goto(new URL('/system', ready.dashboard_url).href)
  const cells = page.getByRole('table', { name: 'Redis with Sentinel' }).locator('tbody > tr > *')
  const shown = (master: string) =>
    until(
      () => cells.allTextContents(),
      (texts) => texts.join('|') === `${master}|2|1|requests are refused`,
    )
  await shown((await set.master())!.address)
  await operator.assertAccessible()
  const next = await set.handOver()
  await set.whole()
  await shown(next.address)
  started.child.kill('SIGTERM')
  assert.equal((await started.ended).code, 0)
})
