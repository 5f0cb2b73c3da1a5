import { causeText } from '../../run/cause-text.ts'
import type { StartupError } from '../../run/errors.ts'
import { type Finding, findingsOf } from './finding.ts'

/** A group of checks that ask the same thing. */
export interface Check {
  readonly name: string
  readonly run: () => Promise<readonly Finding[]> | readonly Finding[]
}

/** A check has nothing to look at. Another finding says why, if that is wrong. */
export class SkippedError extends Error {
  override name = 'SkippedError'
}

/** Longer than any single answer may take. */
const CHECK_MS = 10_000

/**
 * Runs checks side by side. Never rejects: a check that fails or does not end in time is a finding of its own.
 * @returns the findings in the order of the checks
 */
export async function runChecks(checks: readonly Check[], deadlineMs = CHECK_MS): Promise<Finding[]> {
  return (await Promise.all(checks.map((check) => runCheck(check, deadlineMs)))).flat()
}

async function runCheck({ name, run }: Check, deadlineMs: number): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result within ${deadlineMs / 1_000} s`)), deadlineMs)
  })
  try {
    return await Promise.race([(async () => run())(), late])
  } catch (error) {
    return error instanceof SkippedError ? [] : [unjudged(name, error as Error)]
  } finally {
    clearTimeout(timer)
  }
}

/** No problem yet: the server may be busy. */
function unjudged(check: string, error: Error): Finding {
  const remedy = 'run "./ipid doctor" again when the machine is less busy'
  return findingsOf(check).risk(`could not be judged: ${causeText(error)}`, 'It may not work.', remedy)
}

/** A problem from the error with which a start would end. */
export function problemOf(check: string, error: Error, why: string): Finding {
  const { reason = error.message, remedy = 'fix the fault in the message' } = error as Partial<StartupError>
  return findingsOf(check).problem(reason, why, remedy)
}
