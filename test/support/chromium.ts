import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { atProcessEnd } from './end.mjs'

const run = promisify(execFile)
/** The first one is the headless shell, which uses less CPU. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
const INSTALL_MS = 300_000

/**
 * A person's. The headless browser calls itself so, and its events would be a bot's. A context's user agent is not enough: while a page
 * is left, Chromium sends that of the browser.
 */
export const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Installed like Redis when it is missing: with apt-get, where that asks no question. */
async function install(): Promise<void> {
  const isRoot = process.getuid?.() === 0
  const prefix = [...(isRoot ? [] : ['sudo', '-n']), 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q']
  const apt = (...args: string[]) => run(prefix[0]!, [...prefix.slice(1), ...args], { timeout: INSTALL_MS })
  await apt('update')
  const add = (name: string) => apt('install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', name)
  // Not every distribution has the headless shell.
  await add('chromium-headless-shell').catch(() => add('chromium'))
}

let shared: Promise<Browser | string> | undefined

/** A real headless Chromium, shared by all tests of this process, or the reason why there is none. */
export function sharedChromium(): Promise<Browser | string> {
  shared ??= launchChromium()
  return shared
}

async function launchChromium(): Promise<Browser | string> {
  try {
    if (onPath() === undefined) await install()
  } catch (error) {
    return `no Chromium, and it cannot be installed: ${(error as Error).message.split('\n')[0]}`
  }
  const executablePath = onPath()
  if (executablePath === undefined) return 'no Chromium is on PATH'
  const args = ['--no-sandbox', '--disable-dev-shm-usage', `--user-agent=${USER_AGENT}`]
  const browser = await chromium.launch({ executablePath, args })
  atProcessEnd(() => browser.close())
  return browser
}
