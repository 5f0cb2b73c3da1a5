import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContext, Page } from 'playwright-core'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** A page that records every unwanted action. */
export interface WatchedPage {
  readonly page: Page
  /** Fails when the page wrote errors to its console, threw, or asked another origin. @param expected statuses of calls that fail */
  assertClean(expected?: readonly number[]): void
  /** Fails when axe-core finds a serious or critical violation, in light or dark. @param within a selector. Default: the whole page */
  assertAccessible(within?: string): Promise<void>
}

export async function openWatched(context: BrowserContext, origin: string): Promise<WatchedPage> {
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('pageerror', (error) => wrong.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(message.text())
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.origin !== origin && url.protocol !== 'data:' && url.protocol !== 'blob:')
      wrong.push(`asked ${request.url()}`)
  })
  return {
    page,
    assertClean(expected = []) {
      const left = wrong.filter((text) => !expected.some((status) => text.includes(`status of ${status}`)))
      assert.deepEqual(left, [])
    },
    async assertAccessible(within = 'html') {
      // The page's policy allows only its own scripts; that of the test runs beside it. Its text is half a megabyte.
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(readFileSync(AXE, 'utf8'))
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        // Dark mode changes only colours.
        const rules = colorScheme === 'light' ? '' : 'runOnly: ["color-contrast"], '
        // The rest of the result is every element.
        const serious = (await page.evaluate(
          `(async () => {
            // Colours may fade in. Some animations never end.
            for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame)
            const fading = document.getAnimations().filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime))
            await Promise.allSettled(fading.map(({ finished }) => finished))
            const { violations } = await window.axe.run(${JSON.stringify(within)}, { ${rules}resultTypes: ["violations"] })
            return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
          })()`,
        )) as { id: string; nodes: { html: string; failureSummary: string }[] }[]
        const shown = serious.map(
          ({ id, nodes }) => `${colorScheme} ${page.url()} ${id}: ${nodes[0]!.html} ${nodes[0]!.failureSummary}`,
        )
        assert.deepEqual(shown, [])
      }
      await page.emulateMedia({ colorScheme: 'light' })
    },
  }
}
