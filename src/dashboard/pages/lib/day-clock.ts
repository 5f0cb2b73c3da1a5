import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.dayClock

/** The day that counts: that of receipt, or that of the event's timestamp. */
export type DayClock = 'received' | 'event'

/** Labels for a choice. */
export const DAY_CLOCKS: Readonly<Record<DayClock, string>> = texts.clocks

/** Explains the days of a chart or table. */
export function dayTitle(clock: DayClock): string {
  return texts.inUtc(DAY_CLOCKS[clock])
}
