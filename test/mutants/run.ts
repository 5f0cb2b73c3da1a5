import { readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Releases } from '../../bench/run/releases.ts'
import { broken, type Mutant, type NoticingTests } from './mutant.ts'
import { runTests } from './run-tests.ts'
import { type Verdict, verdictOf } from './verdict.ts'

export interface Result {
  readonly mutant: string
  readonly promise: string
  readonly file: string
  readonly verdict: Verdict
  readonly seconds: number
}

/** Breaks the promise in a copy of the checkout, and runs the tests that should notice. */
export async function judge(dir: string, mutant: Mutant, releases: Releases): Promise<Result> {
  const { name, promise, file, noticedBy } = mutant
  const path = join(dir, file)
  const text = await readFile(path, 'utf8')
  const startedAtMs = performance.now()
  await change(path, broken(mutant, text))
  try {
    const { reports, cutOff, said } = await runTests(dir, noticedBy, releases)
    if (!cutOff && !reports.some(({ skipped }) => !skipped)) throw new Error(`${name}: no test was run:\n${said}`)
    const seconds = Math.round((performance.now() - startedAtMs) / 100) / 10
    return { mutant: name, promise, file, verdict: verdictOf(reports, cutOff), seconds }
  } finally {
    await change(path, text)
  }
}

let changes = 0

/** A file that changed within this second is built twice, so each change has a time of its own in the past. */
async function change(path: string, text: string): Promise<void> {
  await writeFile(path, text)
  changes++
  await utimes(path, changes, changes)
}

/**
 * Runs the tests that mutants name of a file, unchanged.
 * @throws Error when a test does not pass, or no test has a named title
 */
export async function runBaseline(
  dir: string,
  file: NoticingTests[0],
  mutants: readonly Mutant[],
  releases: Releases,
): Promise<void> {
  const named = mutants.flatMap(({ noticedBy }) => noticedBy.filter(([other]) => other === file))
  const { reports, cutOff, said } = await runTests(dir, named, releases)
  const failed = reports.filter(({ passed }) => !passed)
  if (cutOff || reports.length === 0 || failed.length > 0) {
    const which = failed.map(({ name, message }) => `${name}: ${message}`).join('\n')
    throw new Error(`${file} does not pass without a mutant\n${said}\n${which}`)
  }
  const run = reports.filter(({ nesting, skipped }) => nesting === 0 && !skipped)
  for (const title of new Set(named.flatMap(([, ...titles]) => titles))) {
    if (!run.some(({ name }) => name.includes(title))) throw new Error(`${file} runs no test named: ${title}`)
  }
}
