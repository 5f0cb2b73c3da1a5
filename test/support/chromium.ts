import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core'
import { atProcessEnd } from './end.mjs'
import { installDebian, onPath } from './programs.ts'

/** The first one is the headless shell, which uses less CPU. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/**
 * A person's. The headless browser calls itself so, and its events would be a bot's. A context's user agent is not enough: while a page
 * is left, Chromium sends that of the browser.
 */
export const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

/** How long a step of a page may take on a busy machine. */
const WAIT_MS = 90_000

let shared: Promise<Browser | string> | undefined

/** A real headless Chromium, shared by all tests of this process, or the reason why there is none. Its pages reduce motion by default. */
export function sharedChromium(): Promise<Browser | string> {
  shared ??= launchChromium()
  return shared
}

async function launchChromium(): Promise<Browser | string> {
  try {
    // Not every distribution has the headless shell.
    if (onPath(NAMES) === undefined) await installDebian('chromium-headless-shell', 'chromium')
  } catch (error) {
    return `no Chromium, and it cannot be installed: ${(error as Error).message.split('\n')[0]}`
  }
  const executablePath = onPath(NAMES)
  if (executablePath === undefined) return 'no Chromium is on PATH'
  const args = ['--no-sandbox', '--disable-dev-shm-usage', `--user-agent=${USER_AGENT}`]
  const browser = await chromium.launch({ executablePath, args })
  // Without a graphics card, pulsing skeletons take a fifth of a core, and make a page load in twice the CPU time.
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options?: BrowserContextOptions) => {
    const context = await newContext({ reducedMotion: 'reduce', ...options })
    context.setDefaultTimeout(WAIT_MS)
    return context
  }
  atProcessEnd(() => browser.close())
  return browser
}
