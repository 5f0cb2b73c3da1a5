import { compareTexts } from '../../run/compare-texts.ts'
import type { ClockStatus } from './system-status.ts'

/** Above this difference, days, quotas and retention begin at noticeably different moments. Answers of a busy server vary by less. */
export const SKEW_MAX_MS = 20_000

/**
 * How far the clock of a server is certainly ahead of this machine's, milliseconds; negative: late.
 * @param ask for its time, Unix milliseconds
 */
export async function clockAheadMs<T>(ask: () => Promise<T>, timeOf: (answer: T) => number): Promise<[T, number]> {
  const beforeMs = Date.now()
  const answer = await ask()
  const afterMs = Date.now()
  const theirsMs = timeOf(answer)
  return [answer, theirsMs < beforeMs ? theirsMs - beforeMs : Math.max(0, theirsMs - afterMs)]
}

/** The clocks that are wrong, by their names; of several with one name the worst. @param all skews against Redis */
export function wrongClocks(all: readonly ClockStatus[]): ClockStatus[] {
  const worst = new Map<string, ClockStatus>()
  for (const clock of all) {
    const size = Math.abs(clock.skew_ms)
    if (size >= SKEW_MAX_MS && size > Math.abs(worst.get(clock.name)?.skew_ms ?? 0)) worst.set(clock.name, clock)
  }
  return [...worst.values()].sort((a, b) => compareTexts(a.name, b.name))
}
