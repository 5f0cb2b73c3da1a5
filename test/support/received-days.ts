import { utcDay } from '../../src/pipeline/event/outcomes.ts'

/** Flags of `ipid replay` for events received while a test runs, which may be at midnight. */
export function receivedDays(): string[] {
  return ['--from', utcDay(Date.now() - 86_400_000), '--to', utcDay(Date.now())]
}
