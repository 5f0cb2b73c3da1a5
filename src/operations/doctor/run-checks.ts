import { InputError, StartupError } from '../../run/errors.ts'
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
const CHECK_MS = 8_000

/**
 * Runs checks side by side. Never rejects: a check that fails or does not end in time is a problem of its own.
 * @returns the findings in the order of the checks
 */
export async function runChecks(checks: readonly Check[], deadlineMs = CHECK_MS): Promise<Finding[]> {
  return (await Promise.all(checks.map((check) => runCheck(check, deadlineMs)))).flat()
}

async function runCheck({ name, run }: Check, deadlineMs: number): Promise<readonly Finding[]> {
  const { problem } = findingsOf(name)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Finding[]>((resolve) => {
    const seen = `no result within ${deadlineMs / 1_000} s`
    timer = setTimeout(() => resolve([problem(seen, UNJUDGED, 'run "./ipid doctor" again')]), deadlineMs)
  })
  try {
    return await Promise.race([(async () => run())(), late])
  } catch (error) {
    if (error instanceof SkippedError) return []
    return [problemOf(name, error as Error)]
  } finally {
    clearTimeout(timer)
  }
}

const UNJUDGED = 'This part could not be judged, and may not work.'

/** A problem from the error of a start. */
export function problemOf(check: string, error: Error, why = UNJUDGED): Finding {
  const isExplained = error instanceof StartupError || error instanceof InputError
  const { reason = error.message, remedy } = error as Partial<StartupError>
  const otherwise = isExplained ? 'the message says it' : 'run "./ipid doctor" again'
  return findingsOf(check).problem(reason || error.message, why, remedy ?? otherwise)
}
