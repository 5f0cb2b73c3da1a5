/** The day that counts: that of receipt, or that of the event's timestamp. */
export type DayClock = 'received' | 'event'

/** Labels for a choice. */
export const DAY_CLOCKS: Readonly<Record<DayClock, string>> = { received: 'Day received', event: 'Day of the event' }

/** Explains the days of a chart or table. */
export function dayTitle(clock: DayClock): string {
  return `${DAY_CLOCKS[clock]} (UTC)`
}
