import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sharedChromium } from '../support/chromium.ts'
import { CLIENT_TOURS, NO_GO, runGoSamples } from '../support/clients/tours.ts'
import { type ReadyFile, TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'
import { openWatched } from '../support/watched-page.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TOUR = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  .split('\n## Tour\n')[1]!
  .split('\n## ')[0]!

/** A command of the tour, and the output printed after it; undefined when none is. */
interface Lesson {
  readonly command: string
  readonly output: string | undefined
}

const LESSONS = lessonsOf(TOUR)
/** Outputs that appear once an event has passed the pipeline. */
const APPEARS_SOON = /\/v1\/events\/|\bipid sql\b/

/** Parts of an output that differ from run to run. */
const VARIABLE = [
  ['UUID', /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g],
  ['TIME', /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g],
  ['KEY', /\b(src|pub)_[0-9a-f]+/g],
  ['"request_id":"ID"', /"request_id":"\w+"/g],
] as const

const browser = await sharedChromium()

test('the tour of README.md works as written, and its company is on the dashboard', async (t) => {
  const step = stepsOf(t)
  const site = new TestSite(t)
  // The outputs are those of a first start, which has the data of npm.
  site.env.DEFAULT_DATA = undefined
  const started = site.start([], { npm: true })
  const ready = (await started.ready()) as ReadyFile & { readonly dashboard_url: string }
  const usual = { 'http://127.0.0.1:8080': ready.url }
  const here = (text: string) => Object.entries(usual).reduce((all, [from, to]) => all.replaceAll(from, to), text)
  const env = { ...site.env, IPID_API_KEY: ready.api_key }
  const run = async (command: string) => {
    const exported = here(command).replace('ipid_…', ready.api_key!)
    return (await promisify(execFile)('/bin/sh', ['-ec', exported], { cwd: ROOT, env })).stdout
  }

  assert.ok(LESSONS.filter(({ output }) => output !== undefined).length >= 6, 'the tour has commands and outputs')
  for (const { command, output } of LESSONS) {
    await step(command.split('\n').find((line) => !line.startsWith('export '))!, async () => {
      if (output === undefined) {
        await run(command)
      } else if (APPEARS_SOON.test(command)) {
        await until(
          () => run(command),
          (printed) => isOutput(printed, here(output)),
        )
      } else {
        const printed = await run(command)
        assert.ok(isOutput(printed, here(output)), `printed:\n${printed}\nREADME.md:\n${output}`)
      }
    })
  }

  for (const { name, skip, run: runTour, page } of CLIENT_TOURS) {
    await step(`the tour of the ${name} client works as written`, async (t) => {
      if (skip !== undefined) return t.skip(skip)
      const { script, output } = await runTour(t, page, here)
      // An event appears once it has passed the pipeline.
      await until(
        () => script(env),
        (printed) => printed === output,
      )
    })
  }

  await step('the samples in Go compile, and print answers', async (t) => {
    if (NO_GO !== undefined) return t.skip(NO_GO)
    const printed = await runGoSamples(t, env, here)
    assert.equal(printed.match(/<nil>$/gm)?.length, 5, printed)
  })

  await step('a browser signs in by the link of the start, and reads the company', async (t) => {
    if (typeof browser === 'string') return t.skip(browser)
    const context = await browser.newContext()
    t.after(() => context.close())
    const { page, assertClean } = await openWatched(context, new URL(ready.dashboard_url).origin)
    await page.goto(ready.dashboard_url)
    await page.getByRole('link', { name: 'Companies', exact: true }).click()
    const row = page.getByRole('row').filter({ hasText: 'apple.com' })
    await row.waitFor()
    await row.getByRole('link').first().click()
    await page.getByRole('heading', { name: 'Apple' }).waitFor()
    await page.getByText('Consumer Electronics').first().waitFor()
    assertClean()
  })

  started.child.kill('SIGINT')
  assert.deepEqual(await started.ended, { code: 0, signal: null })
  assert.deepEqual(site.processes(), [])
})

/** The blocks of a page in sh, each with the block in another language that follows it, if one does. */
function lessonsOf(page: string): Lesson[] {
  const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
    language,
    text: text!,
  }))
  return blocks.flatMap(({ language, text }, i) => {
    if (language !== 'sh') return []
    const next = blocks[i + 1]
    const isOutput = next !== undefined && ['', 'json'].includes(next.language!)
    return [{ command: text.trim(), output: isOutput ? next.text : undefined }]
  })
}

/** Whether a command printed the output of the page. A line "…" of the page matches any lines; JSON may have line breaks. */
function isOutput(printed: string, page: string): boolean {
  const wanted = comparable(page)
  const parts = wanted.split(/^…\n/m)
  if (parts.length === 1) return comparable(printed) === wanted
  const found = comparable(printed)
  let from = 0
  return parts.every((part) => {
    const at = found.indexOf(part.trimEnd(), from)
    from = at + part.length
    return at >= 0
  })
}

function comparable(text: string): string {
  const masked = VARIABLE.reduce((all, [name, pattern]) => all.replaceAll(pattern, name), text)
  return asOneLine(masked) ?? masked.trimEnd()
}

/** JSON without line breaks; undefined for other text and for several lines of JSON. */
function asOneLine(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}
