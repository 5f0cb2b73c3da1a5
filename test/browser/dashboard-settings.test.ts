import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { sharedChromium } from '../support/chromium.ts'
import { sharedSite } from '../support/shared-site.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

/* Settings, Tenants and Lookup as an operator and a member use them: a whole ipid, and a real browser. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined

/** An address of a company in the starter data. */
const COMPANY_IP = '17.253.144.10'
/** Maximum time of a revocation in a process that lost its connection to Redis. */
const REVOKED_WITHIN_MS = 60_000
/** The tabs of Settings: what they show first. */
const TABS = [
  ['General', '', 'Plan and limits'],
  ['People', '/people', 'People'],
  ['Rules', '/rules', 'Rules'],
  ['Heat and fit', '/heat-and-fit', 'Which companies fit'],
  ['Intent pages', '/intent', 'Intent pages'],
  ['HubSpot', '/crm', 'HubSpot'],
  ['API keys', '/keys', 'API keys'],
  ['Shared links', '/shared-links', 'Shared links'],
] as const

test('keys, rules, tenants and lookups, without a shell', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const { site, ready, origin, signInLink } = await sharedSite()
  const openGuest = async () => {
    const context = await browser.newContext()
    t.after(() => context.close())
    return await openWatched(context, origin)
  }
  const openPage = async (link: string, isMember = false) => {
    const watched = await openGuest()
    await watched.page.goto(link)
    if (isMember) await watched.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await watched.page.getByRole('button', { name: 'Sign out' }).waitFor()
    return watched
  }
  const operator = await openPage(await signInLink())
  let memberLink = ''

  await t.test('an operator creates a tenant, changes its plan, and invites a member', async () => {
    const { page, assertAccessible } = operator
    await page.goto(`${origin}/tenants`)
    for (const name of ['Not a slug', 'acme']) {
      await page.getByLabel('Name').fill(name)
      await page.getByRole('button', { name: 'Create tenant' }).click()
      if (name !== 'acme') await page.getByText('1 to 64 of a-z, 0-9').waitFor()
    }
    await page.getByText('acme was created').waitFor()
    await page.getByLabel('Name').fill('acme')
    await page.getByRole('button', { name: 'Create tenant' }).click()
    await page.getByText('tenant acme already exists').waitFor()
    await page.getByLabel('Plan of acme', { exact: true }).selectOption('growth')
    await page.getByRole('button', { name: 'Save the plan of acme' }).click()
    await page.getByRole('button', { name: 'Save the plan of acme', disabled: true }).waitFor()
    // The button is disabled while the plan is saved, too.
    const shown = () => site.ipid('tenant', 'show', 'acme')
    await until(shown, ({ stdout }) => /plan\s+growth/.test(stdout))
    await assertAccessible()
    await page.getByRole('button', { name: 'Invite a person to acme' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace')
    await page.getByLabel('They may').selectOption('admin')
    await page.getByRole('button', { name: 'Create link' }).click()
    memberLink = await page.getByLabel('Sign-in link').inputValue()
    await assertAccessible()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.locator('button:focus', { hasText: 'Invite a person' }).waitFor()
  })

  const member = await openPage(memberLink, true)
  const send = async (key: string) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const body = JSON.stringify({ events: [{ ip: COMPANY_IP }] })
    const response = await fetch(`${ready.url}/v1/ingest`, { method: 'POST', headers, body })
    const answer = (await response.json()) as { results?: { status: string; rule?: string }[] }
    return { status: response.status, result: answer.results?.[0] }
  }
  let key = ''

  await t.test('a key that a member generates is shown as used after its first request', async () => {
    const { page, assertAccessible } = member
    await page.goto(`${origin}/t/acme/settings`)
    assert.equal(await page.getByRole('link', { name: 'Tenants' }).count(), 0)
    await page.getByText('growth', { exact: true }).waitFor()
    const tabs = page.getByRole('navigation', { name: 'Settings' }).getByRole('link')
    assert.deepEqual(
      await tabs.allTextContents(),
      TABS.map(([label]) => label),
    )
    for (const [label, path, heading] of TABS) {
      await tabs.getByText(label, { exact: true }).click()
      await page.waitForURL(`${origin}/t/acme/settings${path}`)
      await page.getByRole('heading', { level: 2, name: heading, exact: true }).waitFor()
      assert.equal(await page.locator('nav [aria-current=page]').getByText(label, { exact: true }).count(), 1)
      await assertAccessible()
    }
    // The list of places leads to a tab by its name.
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('api k')
    await page.keyboard.press('Enter')
    await page.getByText('There is no key yet').waitFor()
    await page.getByRole('button', { name: 'Generate test key' }).click()
    const testKey = await page.getByLabel('New key').inputValue()
    assert.match(testKey, /^ipid_test_[0-9a-f]{64}$/)
    assert.equal((await send(testKey)).status, 200)
    await page.getByRole('status').getByText('Nothing was stored.').waitFor()
    await page.getByRole('table', { name: 'Active keys' }).getByText('Test', { exact: true }).waitFor()
    await assertAccessible()
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('button', { name: 'Revoke ipid_test_' }).click()
    await page.getByRole('button', { name: 'Revoke key', exact: true }).click()
    await page.getByText('No active key', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Generate key' }).click()
    key = await page.getByLabel('New key').inputValue()
    assert.match(key, /^ipid_[0-9a-f]{64}$/)
    const line = await page.getByLabel('Command that sends an event').inputValue()
    assert.ok(line.startsWith(`curl -s ${ready.url}/v1/ingest -H 'x-api-key: ${key}'`), line)
    await page.getByText('Waiting for your first event…').waitFor()
    await assertAccessible()
    assert.equal((await send(key)).status, 200)
    await page.getByRole('status').getByText('It works').waitFor()
    await page.getByRole('cell', { name: 'never' }).waitFor({ state: 'detached' })
    await assertAccessible()
    await page.reload()
    await page.getByText('in force', { exact: true }).waitFor()
    assert.ok(!(await page.content()).includes(key.slice(12)), 'the key is shown once')
  })

  await t.test('an admin chooses the time zone, and pages name it where it is not that of the reader', async () => {
    const { page, assertAccessible } = member
    await page.goto(`${origin}/t/acme/settings`)
    const save = async (zone: string) => {
      await page.getByRole('combobox', { name: 'Time zone' }).fill(zone)
      await page.getByRole('button', { name: 'Save time zone' }).click()
    }
    await save('Nowhere')
    await page.getByText('"Nowhere" is no time zone').waitFor()
    await assertAccessible()
    await save('Pacific/Apia')
    await page.getByText('Days are those of Pacific/Apia now').waitFor()
    assert.match((await site.ipid('tenant', 'show', 'acme')).stdout, /time zone\s+Pacific\/Apia/)
    await page.goto(`${origin}/t/acme/companies`)
    await page.getByRole('button', { name: 'Last 30 days' }).click()
    await page.getByLabel('From (Pacific/Apia)').waitFor()
    await assertAccessible()
    await page.goto(`${origin}/t/acme/settings`)
    await save('UTC')
    await page.getByText('Days are those of UTC now').waitFor()
  })

  await t.test('a member who changes the tenant of an address sees nothing of it', async () => {
    const { page } = member
    const foreign = ready.api_key.slice(0, 12)
    await page.goto(`${origin}/t/demo/settings`)
    await page.getByText('There is no workspace demo').first().waitFor()
    assert.ok(!(await page.content()).includes(foreign))
  })

  await t.test('a rule is tried and added, and applies to events and lookups', async () => {
    const { page, assertAccessible } = member
    await page.goto(`${origin}/t/acme/settings/rules`)
    await page.getByRole('textbox', { name: 'Network' }).fill('no network')
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByText('must be a network like').waitFor()
    await page.getByRole('textbox', { name: 'Network' }).fill('17.253.0.0/16')
    // The event is stored within a second or so; until then a dry run does not know it.
    await until(async () => {
      await page.getByRole('button', { name: 'What would it have changed?' }).first().click()
      await page.getByText('Nothing is changed yet').waitFor()
      return (await page.getByText('1 of the stored events is hidden').count()) > 0
    })
    assert.equal((await send(key)).result?.status, 'ok')
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByRole('button', { name: 'Remove own 17.253.0.0/16' }).waitFor()
    await until(
      () => send(key),
      ({ result }) => result?.rule === 'own 17.253.0.0/16',
    )
    await assertAccessible()

    await page.getByRole('link', { name: 'Lookup' }).click()
    await page.getByRole('textbox').fill(`${COMPANY_IP}, 8.8.8.8 and more`)
    await page.getByRole('button', { name: 'Look up' }).click()
    await page.getByText('2 words are not addresses').waitFor()
    await page.getByText('2 of 10,000 are used today').waitFor()
    await page.getByText('by a rule').waitFor()
    await page.getByRole('button', { name: `Why? ${COMPANY_IP}` }).click()
    await page.getByRole('row', { name: /^business_name Apple organisations 17\./ }).waitFor()
    await page.getByRole('definition').filter({ hasText: 'own 17.253.0.0/16' }).waitFor()
    await page.getByRole('definition').filter({ hasText: 'table:organisations' }).waitFor()
    await assertAccessible()

    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('link', { name: 'Rules' }).click()
    await page.getByText(/\d visits? (?:is|are) hidden/).waitFor()
    await page.getByRole('button', { name: 'Remove own 17.253.0.0/16' }).click()
    await page.getByRole('button', { name: 'Remove rule' }).click()
    await page.getByText('There is no rule yet').waitFor()
    await page.getByText(/hidden visits? (?:is|are) shown again/).waitFor()
  })

  await t.test('a rule applies to the past, with a preview, progress and a result', async () => {
    const { page, assertAccessible } = member
    const rule = 'own 17.253.0.0/16'
    await page.getByRole('textbox', { name: 'Network' }).fill('17.253.0.0/16')
    await page.getByLabel('Applies to').first().selectOption('none')
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByRole('button', { name: `Apply to the past: ${rule}` }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/^Hides 1 company, with \d+ visits?$/).waitFor()
    await dialog.getByText(/^Apple: \d+ visits?, no visible event is left$/).waitFor()
    await assertAccessible()
    // A job may run for a moment only, so the test keeps the texts of the page.
    await page.evaluate(`{
      const seen = (window.seenOfJob = new Set())
      new MutationObserver(() => {
        for (const bar of document.querySelectorAll('[role=progressbar]')) seen.add(bar.getAttribute('aria-label'))
        const said = document.body.textContent.match(/Stored visits (?:will be|are being) updated/)
        if (said !== null) seen.add(said[0])
      }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
    }`)
    await dialog.getByRole('button', { name: 'Apply', exact: true }).click()
    await page.getByText('Stored visits are up to date').waitFor()
    await page.getByText(/^\d+ visits? (?:is|are) hidden/).waitFor()
    await assertAccessible()
    const seen = await page.evaluate<string[]>('[...window.seenOfJob]')
    assert.ok(seen.includes('Progress of the update') && seen.includes('Stored visits are being updated'), seen.join())
    await page.getByRole('link', { name: 'Companies' }).first().click()
    await page.getByRole('row').filter({ hasText: 'Apple' }).waitFor({ state: 'detached' })
    await page.goto(`${origin}/t/acme/settings/keys`)
  })

  await t.test('a revoked key is refused', async () => {
    const { page, assertAccessible } = member
    await page.getByRole('button', { name: `Revoke ${key.slice(0, 12)}` }).click()
    await page.getByText('It was last used').waitFor()
    await assertAccessible()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('No active key').waitFor()
    await page.getByText('2 revoked keys').click()
    await page.getByRole('cell', { name: 'revoked' }).first().waitFor()
    await assertAccessible()
    await until(
      () => send(key),
      ({ status }) => status === 401,
      REVOKED_WITHIN_MS,
    )
    assert.equal((await send(ready.api_key)).status, 200)
  })

  await t.test(
    'a source is made, shows its first event by itself and what is wrong with it, and is revoked',
    async () => {
      const { page, assertAccessible } = member
      await page.getByRole('link', { name: 'Sources' }).click()
      await page.getByText('There is no source yet').waitFor()
      await assertAccessible()
      await page.getByRole('button', { name: 'Add a source' }).click()
      await page.locator('select:focus').selectOption('segment')
      await page.getByLabel('Name, for people').fill('Shop')
      await page.getByLabel('Address of the API').fill('https://x.example/path')
      await page.getByRole('button', { name: 'Create source' }).click()
      await page.getByText('must be https://host').waitFor()
      await page.getByLabel('Address of the API').fill(ready.url)
      await assertAccessible()
      await page.getByRole('button', { name: 'Create source' }).click()
      const sourceKey = await page.getByLabel('Server key').inputValue()
      assert.match(sourceKey, /^src_[0-9a-f]{40}$/)
      const browserKey = await page.getByLabel('Browser key').inputValue()
      assert.match(browserKey, /^pub_[0-9a-f]{40}$/)
      const setup = page.getByRole('region', { name: 'Node, on your servers' })
      assert.ok((await setup.textContent())!.includes(`writeKey: '${sourceKey}', host: '${ready.url}'`))
      await page.getByText('can be reached from this machine or network only').waitFor()
      const samples = page.getByRole('region', { name: 'Each call in Node' })
      assert.equal(await page.getByRole('button', { name: 'Copy: Each call in Node' }).count(), 0)
      assert.match((await samples.textContent())!, /request\.ip/)
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.getByRole('button', { name: 'Copy: Browser, in your pages' }).click()
      await page.getByRole('button', { name: 'Copied', exact: true }).waitFor()
      const copied = (await page.evaluate('navigator.clipboard.readText()')) as string
      assert.match(copied, /^import \{ AnalyticsBrowser \}[\s\S]*analytics\.page\(\)$/)
      assert.ok(copied.includes(`writeKey: '${browserKey}'`) && !copied.includes(sourceKey))
      await page.getByText('Waiting for the first event…').waitFor()
      await assertAccessible()
      const path = `/s/segment/${sourceKey}/v1/track`
      const track = { type: 'track', event: 'Signed up', userId: 'u', messageId: 'm1' }
      const answer = await fetch(ready.url + path, { method: 'POST', body: JSON.stringify(track) })
      assert.equal(answer.status, 200, await answer.text())
      await page.getByText('First event received').waitFor()
      await page
        .getByRole('region', { name: 'Code that mends it' })
        .first()
        .getByText('context: { ip: request.ip }')
        .waitFor()
      await page.getByRole('button', { name: 'I have copied it' }).click()
      await page.getByText('needs attention').waitFor()
      await assertAccessible()

      // The newcomer opens their own page, on the machine that ipid runs on.
      await page.getByRole('button', { name: 'Add a source' }).click()
      await page.locator('select:focus').selectOption('web')
      const address = page.getByLabel('Address at which your visitors’ browsers reach ipid')
      // The address of this machine is not proposed: nobody else reaches it.
      assert.equal(await address.inputValue(), '')
      await address.fill(ready.url)
      await page.getByRole('button', { name: 'Create source' }).click()
      const tag = (await page.getByRole('region', { name: 'In the head of every page' }).textContent())!
      // The tag is the first thing to paste, and alone until someone asks for more.
      const card = page.locator('.ui-card').filter({ hasText: 'Your new source' })
      const toPaste = card.getByRole('region')
      assert.equal(await toPaste.count(), 1)
      const [tagBox, keyBox] = [await toPaste.boundingBox(), await page.getByLabel('Browser key').boundingBox()]
      assert.ok(tagBox!.y < keyBox!.y)
      await page.getByText('WordPress, in place of the tag').click()
      await page.getByRole('button', { name: /^Copy: WordPress/ }).waitFor()
      assert.equal(await toPaste.count(), 2)
      await assertAccessible()
      const own = await page.context().newPage()
      const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(tag))
      t.after(() => void server.close().closeAllConnections())
      await once(server.listen(0, '127.0.0.1'), 'listening')
      await own.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
      await page.getByText('First event received, and filtered because 127.0.0.1 is your own machine.').waitFor()
      await own.close()
      await page.getByRole('button', { name: 'Done' }).click()
      await page.getByText('from your own machine').waitFor()
      await assertAccessible()
      const list = await site.ipid('source', 'list', 'acme')
      assert.match(list.stdout, /^\w+: today received, and filtered because 127\.0\.0\.1 is your own machine$/m)

      await page.getByRole('button', { name: 'Setup of Shop' }).click()
      assert.equal(await page.getByLabel('Browser key').inputValue(), browserKey)
      await page.getByLabel('Address of the API').fill('https://ipid.example')
      await page.getByRole('button', { name: 'Use this address' }).click()
      await page.getByText("cdnURL: 'https://ipid.example/s/segment'").waitFor()
      assert.equal(await page.getByText('can be reached from this machine or network only').count(), 0)
      await assertAccessible()
      await page.getByRole('button', { name: 'Close' }).click()

      await page.getByRole('button', { name: 'Change Shop' }).click()
      await page.getByLabel('Name, for people').fill('Web shop')
      await page.getByLabel('Addresses of visitors').selectOption('payload')
      await assertAccessible()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('addresses of the payload').waitFor()
      await page.getByRole('button', { name: 'Revoke Web shop' }).click()
      await page.getByText('Its key was last used').waitFor()
      await page.getByRole('button', { name: 'Revoke source' }).click()
      await page.getByText('1 revoked source').waitFor()
      assert.ok(!(await page.content()).includes(sourceKey.slice(11)), 'the key is shown once')
      await page.goto(`${origin}/t/acme/settings/keys`)
    },
  )

  await t.test('of many keys a few are shown, and each can be found', async () => {
    const { page, assertAccessible } = member
    const { csrf_token: token } = await call<{ csrf_token: string }>(page, '/api/session')
    const made: string[] = []
    for (let i = 0; i < 40; i++) {
      const headers = { 'x-csrf-token': token, origin }
      const answer = await page.request.post(`${origin}/api/tenants/acme/keys`, { headers, data: {} })
      made.push(((await answer.json()) as { key: string }).key)
    }
    await page.reload()
    const rows = page.getByRole('table', { name: 'Active keys' }).locator('tbody tr')
    await page.getByText('25 of 40').waitFor()
    assert.equal(await rows.count(), 25)
    assert.match((await rows.first().textContent())!, new RegExp(made.at(-1)!.slice(0, 12)))
    await assertAccessible()
    await page.getByLabel('Beginning of a key').fill(made[0]!)
    await until(async () => (await rows.count()) === 1)
    assert.match((await rows.first().textContent())!, new RegExp(made[0]!.slice(0, 12)))
    assert.equal(await page.getByLabel('Beginning of a key').inputValue(), made[0]!.slice(0, 12))
    await page.getByLabel('Beginning of a key').fill('')
    await page.getByRole('button', { name: 'Show more' }).click()
    await until(async () => (await rows.count()) === 40)
  })

  await t.test('people are invited, seen with their devices, and signed out', async () => {
    const { page, assertAccessible } = member
    await page.goto(`${origin}/t/acme/settings`)
    await page.getByRole('link', { name: 'People', exact: true }).click()
    const people = page.getByRole('table', { name: 'Members' })
    const ada = people.getByRole('row', { name: /Ada Lovelace/ })
    await ada.getByText('this browser').waitFor()
    await ada.getByText('Chrome on Linux').waitFor()
    assert.equal(await page.getByRole('table', { name: 'Operators' }).count(), 0)
    await assertAccessible()

    await page.getByRole('button', { name: 'Invite a person' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Bob')
    await page.getByLabel('E-mail address (optional)').fill('Bob@Example.com')
    await page.getByLabel('They may').selectOption('admin')
    await assertAccessible()
    // The shared instance has a mail server.
    await page.getByRole('button', { name: 'Send invitation' }).click()
    const link = await page.getByLabel('Sign-in link').inputValue()
    await assertAccessible()
    await page.getByRole('button', { name: 'Done' }).click()
    const bob = people.getByRole('row', { name: /Bob/ })
    await bob.getByText('not opened yet').waitFor()
    await bob.getByText('bob@example.com').waitFor()
    await page.getByRole('button', { name: 'Withdraw the invitation of Bob' }).click()
    await page.getByText('The invitation of Bob was withdrawn.').waitFor()
    await bob.getByText('not opened yet').waitFor({ state: 'detached' })
    const guest = await openGuest()
    await guest.page.goto(link)
    await guest.page.getByText('This link has been used already').waitFor()

    await page.getByRole('button', { name: 'Actions for Bob' }).click()
    await assertAccessible()
    // Only an operator may: the member could otherwise act as Bob.
    assert.ok(await page.getByRole('menuitem', { name: 'New sign-in link' }).isDisabled())
    await page.keyboard.press('Escape')
    await operator.page.goto(`${origin}/t/acme/settings/people`)
    await operator.page.getByRole('button', { name: 'Actions for Bob' }).click()
    await operator.page.getByRole('menuitem', { name: 'New sign-in link' }).click()
    await operator.page.getByRole('button', { name: 'Send invitation' }).click()
    await guest.page.goto(await operator.page.getByLabel('Sign-in link').inputValue())
    await guest.page.getByRole('button', { name: 'Sign in' }).click()
    await guest.page.getByRole('button', { name: 'Sign out' }).waitFor()
    await guest.page.getByText('Bob', { exact: true }).waitFor()
    await guest.page.goto(`${origin}/t/acme/settings/keys`)
    await guest.page.getByRole('button', { name: 'Generate key' }).click()
    await guest.page.getByRole('cell', { name: 'Bob', exact: true }).waitFor()
    await operator.page.getByRole('button', { name: 'Done' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'End the session of Bob: Chrome on Linux' }).click()
    await bob.getByText('not signed in').waitFor()
    await guest.page.goto(`${origin}/t/acme/settings/people`)
    await guest.page.getByText('Sign in to see this page').waitFor()

    await page.getByRole('button', { name: 'Actions for Bob' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByText('Digests and files of exports that go to bob@example.com end. Alerts that').waitFor()
    await assertAccessible()
    await page.getByRole('button', { name: 'Remove person' }).click()
    await bob.waitFor({ state: 'detached' })
    const left = page.getByRole('dialog', { name: 'Bob was removed' })
    await left.getByRole('row', { name: /API key ipid_/ }).waitFor()
    await assertAccessible()
    await left.getByRole('button', { name: /^Revoke ipid_/ }).click()
    await left.getByText('Nothing is left that they made here and that still works.').waitFor()
    await left.getByRole('button', { name: 'Done' }).click()
    await operator.page.goto(`${origin}/t/acme/settings/people`)
    await operator.page.getByRole('table', { name: 'Operators' }).getByText('this browser').waitFor()
    await operator.assertAccessible()
    guest.assertClean([401])
  })

  await t.test('a sign-in returns to the page that was opened before it, if the user may see it', async () => {
    const invite = async () => (await site.ipid('dashboard', 'link', 'acme')).stdout.trim()
    const shared = `${origin}/t/acme/companies?days=7&q=a%26b`
    const guest = await openGuest()
    await guest.page.goto(shared)
    await guest.page.getByText('Sign in to see this page').waitFor()
    await guest.assertAccessible()
    // The link of an e-mail opens in a tab of its own.
    const tab = await guest.page.context().newPage()
    await tab.goto(await invite())
    await tab.getByLabel('Your name').fill('Grace Hopper')
    await tab.getByRole('button', { name: 'Sign in' }).click()
    await tab.waitForURL(shared)
    await tab.getByText('Grace Hopper').waitFor()
    await tab.goto(origin)
    await tab.waitForURL(`${origin}/t/acme/home`)

    const stranger = await openGuest()
    await stranger.page.goto(`${origin}/t/demo/companies`)
    await stranger.page.getByText('Sign in to see this page').waitFor()
    await stranger.page.goto(await invite())
    await stranger.page.getByRole('button', { name: 'Sign in' }).click()
    await stranger.page.waitForURL(`${origin}/t/acme/home`)
  })

  operator.assertClean([422])
  member.assertClean([404, 422])
  // The narrowest page scrolls in one direction only.
  const others = ['/t/acme/sources', '/t/acme/lookup', '/tenants']
  for (const path of [...TABS.map(([, tab]) => `/t/acme/settings${tab}`), ...others]) {
    await operator.page.setViewportSize({ width: 360, height: 800 })
    await operator.page.goto(origin + path)
    await operator.page.getByRole('heading', { level: 1 }).waitFor()
    await operator.page.waitForLoadState('networkidle')
    assert.equal(await operator.page.evaluate('document.documentElement.scrollWidth'), 360, path)
  }
})

/** A call with the page's session. */
async function call<T>(page: Page, path: string): Promise<T> {
  const response = await page.request.get(new URL(path, page.url()).href)
  return (await response.json()) as T
}
