import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import type { Page } from 'playwright-core'
import { sharedChromium } from '../support/chromium.ts'
import { TestSite } from '../support/site.ts'
import { openWatched } from '../support/watched-page.ts'

/*
 * A second language is a folder and two lines, as texts/README.md says. Here it is made from English: each vowel has an accent, so that English
 * that is left has none. It stands in for Japanese, whose dates and names of countries have no Latin letters.
 */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : undefined
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = `${ROOT}/src/dashboard/pages`

const LANGUAGE = `
  import { en } from '${PAGES}/texts/en/index.ts'
  const ACCENTS = { a: 'á', e: 'é', i: 'í', o: 'ó', u: 'ú', y: 'ý', A: 'Á', E: 'É', I: 'Í', O: 'Ó', U: 'Ú', Y: 'Ý' }
  // Wraps get the words of a sentence as an argument.
  const wrapped = (value) => (typeof value === 'function' ? (text) => value(translated(text)) : value)
  function translated(value) {
    if (typeof value === 'string') return value.replaceAll(/[aeiouy]/gi, (vowel) => ACCENTS[vowel])
    if (typeof value === 'function') return (...values) => translated(value(...values.map(wrapped)))
    if (Array.isArray(value)) return value.map(translated)
    // Elements of Preact have no prototype of their own, and stay.
    if (value === null || typeof value !== 'object' || 'type' in value && 'props' in value) return value
    return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, translated(text)]))
  }
  export const ja = translated(en)
`

/** Adds the language as a person would. */
const added: Plugin = {
  name: 'a second language',
  setup({ onLoad, onResolve }) {
    const change = (file: string, from: string, to: string) =>
      onLoad({ filter: new RegExp(`/texts/${file}\\.ts$`) }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        assert.ok(text.includes(from), `${path} has ${from}`)
        return { contents: text.replace(from, to), loader: 'ts' as const }
      })
    change('language', "['en'] as const", "['en', 'ja'] as const")
    change('texts', '{ en: () => en }', "{ en: () => en, ja: async () => (await import('second-language')).ja }")
    onResolve({ filter: /^second-language$/ }, ({ path }) => ({ path, namespace: 'made' }))
    onLoad({ filter: /.*/, namespace: 'made' }, () => ({ contents: LANGUAGE, loader: 'js', resolveDir: ROOT }))
  },
}

async function pagesInTwoLanguages(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${PAGES}/main.tsx`],
    tsconfig: `${PAGES}/tsconfig.json`,
    alias: { typebox: `${PAGES}/lib/typebox.ts` },
    loader: { '.woff2': 'empty' },
    plugins: [added],
    bundle: true,
    write: false,
    outdir: '/',
    format: 'esm',
  })
  return outputFiles.find(({ path }) => path.endsWith('.js'))!.text
}

/** All addresses of pages that need nothing to exist. */
const ADDRESSES = [
  ...[...readFileSync(`${PAGES}/pages.tsx`, 'utf8').matchAll(/path: '([^']+)'/g)].map(([, path]) => path!),
  ...[...readFileSync(`${PAGES}/pages/settings.tsx`, 'utf8').matchAll(/path: '([^']*)'/g)].map(
    ([, path]) => `/t/:tenant/settings${path}`,
  ),
  // The server writes what the page of the system says.
].filter((path) => !path.includes(':id') && path !== '/system')

/** The page's texts and names for screen readers, without code, and what people typed. */
const READ = `[
  document.title,
  ...[...document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')].flatMap((element) =>
    ['aria-label', 'title', 'placeholder', 'alt'].map((name) => element.getAttribute(name) ?? '')),
  ...(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const texts = []
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest('code, pre, kbd, script, style, noscript')) texts.push(walker.currentNode.data)
    return texts
  })(),
]`

/** No texts of the pages: names, plans, zones, addresses, examples of data, and what the server says of a browser. */
const OTHERS =
  /ipid|demo|UTC|Europe\/Berlin|Chrome on Linux|starter|growth|professional|custom|full|pat-eu1|\/book-a-demo|https?:\/\/\S+|[\da-f.:]{8,}/g

async function englishIn(page: Page): Promise<string[]> {
  const texts = (await page.evaluate(READ)) as string[]
  const words = texts.filter((text) =>
    /(?:^|[^\p{L}])[a-z]*[aeiou][a-z]+(?:$|[^\p{L}])/iu.test(text.replaceAll(OTHERS, '')),
  )
  return [...new Set(words.map((text) => `${new URL(page.url()).pathname}: ${text}`))]
}

test('no page has an English word in another language, and its numbers and dates follow', { skip }, async (t) => {
  if (typeof browser === 'string') return
  const site = new TestSite(t)
  const { dashboard_url: link, tenant_id: tenant } = await site.start().ready()
  const origin = new URL(link!).origin
  const context = await browser.newContext({ locale: 'ja-JP' })
  t.after(() => context.close())
  const body = await pagesInTwoLanguages()
  await context.route(/\/assets\/main-[^/]+\.js$/, (route) => route.fulfill({ body, contentType: 'text/javascript' }))
  const { page, assertClean } = await openWatched(context, origin)
  await page.goto(link!)
  await page.getByRole('link', { name: 'Hómé' }).waitFor()
  assert.equal(await page.evaluate('document.documentElement.lang'), 'ja')
  const found: string[] = []
  for (const address of ADDRESSES) {
    await page.goto(`${origin}${address.replace(':tenant', tenant!)}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('main .ui-skeleton').first().waitFor({ state: 'detached' })
    found.push(...(await englishIn(page)))
  }
  assert.deepEqual(found, [])
  await page.goto(`${origin}/t/${tenant}/settings/people`)
  await page
    .getByText(/分前|秒前|今/)
    .first()
    .waitFor()
  assertClean()
})
