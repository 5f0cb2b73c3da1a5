import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import type { SharedSite } from './shared-site.ts'
import { openWatched, type WatchedPage } from './watched-page.ts'

/** Runs a command that succeeds. @returns its output, without the last line feed */
export async function ran({ site }: SharedSite, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await site.ipid(...args)
  assert.equal(code, 0, stderr)
  return stdout.trim()
}

/** A page on which a member of a tenant has signed in by a link. It is closed after the test. */
export async function openAsMember(
  t: TestContext,
  browser: Browser,
  shared: SharedSite,
  { tenant, name, ...options }: { readonly tenant: string; readonly name: string } & BrowserContextOptions,
): Promise<WatchedPage> {
  const context = await browser.newContext(options)
  t.after(() => context.close())
  const watched = await openWatched(context, shared.origin)
  const { page } = watched
  await page.goto(await ran(shared, 'dashboard', 'link', tenant, '--name', name))
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  return watched
}
