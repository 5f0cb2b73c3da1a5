import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Locator, Page } from 'playwright-core'
import { sharedChromium } from '../support/chromium.ts'
import { openWatched, type WatchedPage } from '../support/watched-page.ts'

/* The parts of the dashboard by themselves, in a real browser and without a server. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
/** Waits until the element with this text or label has the focus. */
const assertFocused = (page: Page, name: string) =>
  page.waitForFunction(
    `(document.activeElement.textContent || document.activeElement.ariaLabel || '').startsWith(${JSON.stringify(name)})`,
  )

declare function getComputedStyle(element: unknown): Record<string, string>
/** The computed value of a property of CSS. */
const styleOf = (of: Locator, property: string) =>
  of.evaluate((element, name) => getComputedStyle(element)[name]!, property)

async function openParts(t: { after(end: () => Promise<void>): void }, width = 1_200): Promise<WatchedPage> {
  const { outputFiles } = await build({
    entryPoints: [`${ROOT}/test/browser/design-page.js`],
    tsconfig: `${ROOT}/src/dashboard/pages/tsconfig.json`,
    bundle: true,
    write: false,
    outdir: '/',
    format: 'esm',
  })
  const of = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))!.text
  const context = await (browser as Browser).newContext({
    viewport: { width, height: 700 },
    reducedMotion: 'no-preference',
  })
  t.after(() => context.close())
  const watched = await openWatched(context, '')
  await watched.page.setContent('<!doctype html><html lang="en"><title>Parts</title><body></body></html>')
  await watched.page.addStyleTag({ content: of('.css') })
  await watched.page.addScriptTag({ content: of('.js'), type: 'module' })
  await watched.page.getByRole('heading', { name: 'Parts' }).waitFor()
  return watched
}

test('a table keeps its header and names visible, says that columns are cut, and is a list of cards on a phone', {
  skip,
}, async (t) => {
  const { page, assertAccessible, assertClean } = await openParts(t, 800)
  await assertAccessible()
  const view = page.getByRole('region', { name: 'Companies' })
  const hint = page.getByText('Scroll sideways for more columns').first()
  await hint.waitFor()
  await view.evaluate((element) => {
    const { scrollLeft, scrollTop } = Object.assign(element, { scrollLeft: 5_000, scrollTop: 5_000 })
    if (scrollLeft < 100 || scrollTop < 100) throw new Error('it does not scroll')
  })
  const frame = (await view.boundingBox())!
  const head = (await page.getByRole('columnheader', { name: 'Number 9' }).boundingBox())!
  const name = (await page.getByRole('rowheader', { name: 'Company 59' }).boundingBox())!
  assert.ok(Math.abs(head.y - frame.y) < 3, 'the header is at the top')
  assert.ok(name.x >= frame.x && name.x < frame.x + 80, 'the name is at the left')
  await page.setViewportSize({ width: 2_400, height: 700 })
  await hint.waitFor({ state: 'hidden' })
  await page.setViewportSize({ width: 390, height: 700 })
  await hint.waitFor({ state: 'hidden' })
  const row = page.getByRole('row').filter({ hasText: 'Company 7' }).first()
  assert.ok((await row.boundingBox())!.width <= 390)
  assert.ok(((await page.evaluate('document.documentElement.scrollWidth')) as number) <= 390)
  assertClean()
})

test('columns that do not fit leave in their order and return, and a click anywhere in a row opens it', {
  skip,
}, async (t) => {
  const { page } = await openParts(t, 1_300)
  const table = page.getByRole('table', { name: 'Narrow' })
  const headings = async () => (await table.getByRole('columnheader').allTextContents()).join()
  const leftOut = (keys: string) => page.getByText(`left out: ${keys}`, { exact: true }).waitFor()
  await page.setViewportSize({ width: 1_050, height: 700 })
  await leftOut('n2')
  assert.equal(await headings(), 'Company,Figure 0,Figure 1')
  await page.setViewportSize({ width: 700, height: 700 })
  await leftOut('n1,n2')
  await page.setViewportSize({ width: 1_300, height: 700 })
  await leftOut('')
  assert.equal(await headings(), 'Company,Figure 0,Figure 1,Figure 2')

  await table.getByRole('cell').nth(1).click()
  await page.waitForURL(/#opened$/)
})

test('rows are reached, opened and chosen with the keyboard', { skip }, async (t) => {
  const { page } = await openParts(t)
  for (const [key, name] of [
    ['j', 'Company 0'],
    ['j', 'Company 1'],
    ['ArrowDown', 'Company 2'],
    ['k', 'Company 1'],
  ] as const) {
    await page.keyboard.press(key)
    await assertFocused(page, name)
  }
  await page.keyboard.press('x')
  await page.getByText('1 chosen').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/#c1$/)
  await page.getByRole('button', { name: 'Company' }).click()
  await page.getByRole('columnheader', { name: 'Company' }).and(page.locator('[aria-sort=descending]')).waitFor()
  await page.getByRole('checkbox', { name: 'Choose all rows of this page' }).check()
  await page.getByText('60 chosen').waitFor()
  // Typing is not a command.
  await page.getByRole('button', { name: 'Country' }).click()
  await page.keyboard.type('jk')
  assert.equal(await page.getByLabel('Find in Country').inputValue(), 'jk')
})

test('the focus of a row is drawn by all of its cells, and a chosen row keeps its colour under the pointer', {
  skip,
}, async (t) => {
  const { page } = await openParts(t, 1_300)
  const row = page.getByRole('table', { name: 'Narrow' }).getByRole('row').nth(1)
  // Only the keyboard shows the focus.
  await page.keyboard.press('Tab')
  await row.getByRole('link').focus()
  const cells = await row.locator('> *').all()
  const shadows = await Promise.all(cells.map((cell) => styleOf(cell, 'boxShadow')))
  const edges = (shadow: string) =>
    ['2px 0px', '0px 2px', '0px -2px', '-2px 0px'].filter((edge) => shadow.includes(` ${edge} 0px 0px inset`))
  assert.deepEqual(shadows.map(edges), [
    ['2px 0px', '0px 2px', '0px -2px'],
    ['0px 2px', '0px -2px'],
    ['0px 2px', '0px -2px'],
    ['0px 2px', '0px -2px', '-2px 0px'],
  ])

  const chosen = page.getByRole('row').filter({ hasText: 'Company 7' }).first()
  const colour = () => styleOf(chosen.getByRole('rowheader'), 'backgroundColor')
  await chosen.getByRole('checkbox').check()
  await page.mouse.move(0, 0)
  const before = await colour()
  await chosen.hover()
  assert.equal(await colour(), before)
})

test('on a phone, a finger reaches the box of a card, a chosen card is tinted, and labels are above their values', {
  skip,
}, async (t) => {
  const { page, assertAccessible } = await openParts(t, 390)
  const card = page.getByRole('row').filter({ hasText: 'Company 7' }).first()
  const box = card.getByRole('checkbox')
  const label = (await card.locator('label').boundingBox())!
  assert.ok(label.width >= 44 && label.height >= 44, JSON.stringify(label))
  const colour = () => styleOf(card, 'backgroundColor')
  const before = await colour()
  // Away from the box itself, at the edge of what the finger reaches.
  await card.locator('label').click({ position: { x: 3, y: 3 } })
  assert.ok(await box.isChecked())
  assert.notEqual(await colour(), before)
  const cells = card.getByRole('cell').filter({ hasText: '123456' })
  const [first, second, third] = await Promise.all([0, 1, 2].map((i) => cells.nth(i).boundingBox()))
  assert.ok(first!.height > 30, 'the label has a line of its own')
  assert.equal(first!.y, second!.y)
  assert.ok(second!.x > first!.x + 100 && third!.y > first!.y)
  const empty = card.locator('[data-label="Number 9"]')
  assert.deepEqual([await empty.count(), await empty.isVisible()], [1, false])
  await assertAccessible()
})

test('a toast undoes an action, and reports when it cannot', { skip }, async (t) => {
  const { page, assertAccessible } = await openParts(t)
  await page.getByRole('button', { name: 'Hide', exact: true }).click()
  // It stays as long as the pointer is on it.
  await page.getByRole('status').filter({ hasText: 'Company 1 is hidden.' }).hover()
  await assertAccessible()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('undone 1').waitFor()
  await page.getByText('Company 1 is hidden.').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Hide badly' }).click()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('alert').filter({ hasText: 'It could not be undone: no connection' }).waitFor()
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await page.getByRole('alert').filter({ hasText: 'undone' }).waitFor({ state: 'detached' })
})

test('filters take several values, spans have names, and popovers return the focus', { skip }, async (t) => {
  const { page, assertAccessible, assertClean } = await openParts(t)
  await page.getByRole('button', { name: 'Country' }).click()
  await page.getByLabel('Find in Country').fill('ger')
  await page.getByRole('checkbox', { name: 'Germany' }).check()
  await page.getByLabel('Find in Country').fill('')
  await page.getByRole('checkbox', { name: 'Chile' }).check()
  await page.getByText('Germany+Chile').waitFor()
  await assertAccessible()
  await page.keyboard.press('Escape')
  await assertFocused(page, 'Country:Germany or Chile')
  await page.getByRole('button', { name: 'Clear Country' }).click()
  await page.getByRole('button', { name: 'Country:' }).waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'Last 30 days' }).click()
  await page.getByRole('button', { name: 'Last week' }).click()
  await page.getByText('"last-week"').waitFor()
  await page.getByRole('button', { name: 'Last week' }).click()
  await page.getByLabel(/^From/).fill('2026-01-05')
  await page.getByLabel(/^To/).fill('2026-01-09')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('{"from":"2026-01-05","to":"2026-01-09"}').waitFor()

  await page.getByRole('button', { name: 'More' }).click()
  await page.keyboard.press('ArrowDown')
  await assertFocused(page, 'Merge')
  await page.keyboard.press('Escape')
  await assertFocused(page, 'More')

  await page.getByRole('note', { name: 'Heat 82' }).focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Shift+Tab')
  await page.getByRole('tooltip').getByText('+40').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('tooltip').waitFor({ state: 'detached' })
  assertClean()
})
