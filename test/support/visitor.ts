import type { BrowserContextOptions, Request } from 'playwright-core'
import { sharedChromium } from './chromium.ts'

/** Libraries send nothing from a browser that tests drive. */
const DRIVEN_BY_PEOPLE = `
  Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false })
  Object.defineProperty(Navigator.prototype, 'userAgentData', { get: () => undefined })`

/** What a host that is not there answers. Undefined: nothing, and the request fails. */
export type Answer = { readonly status?: number; readonly contentType?: string; readonly body?: string } | undefined

/**
 * The browser of a visitor. Everything that goes wrong in it, and every request to another host that has no answer, is in `wrong`.
 * @param hosts origins that are there
 * @param answer stands for all other hosts. Default: none of them answers
 */
export async function openVisitor(
  t: { after(hook: () => unknown): void },
  hosts: readonly string[],
  answer: (url: URL, request: Request) => Answer = () => undefined,
  options?: BrowserContextOptions,
) {
  const browser = await sharedChromium()
  if (typeof browser === 'string') throw new Error(browser)
  const context = await browser.newContext(options)
  t.after(() => context.close())
  await context.addInitScript(DRIVEN_BY_PEOPLE)
  const wrong: string[] = []
  await context.route('**', (route, request) => {
    const url = new URL(request.url())
    if (hosts.includes(url.origin)) return route.continue()
    const response = answer(url, request)
    const headers = {
      'access-control-allow-origin': request.headers().origin ?? '*',
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': request.headers()['access-control-request-headers'] ?? '*',
    }
    if (response !== undefined) return route.fulfill({ headers, ...response })
    wrong.push(`asked ${url}`)
    return route.abort()
  })
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(message.text())
  })
  page.on('pageerror', (error) => wrong.push(error.message))
  return { context, page, wrong }
}
