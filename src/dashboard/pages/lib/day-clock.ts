import { TEXTS } from '../texts/texts.ts'
import { isInUtc } from './days.ts'

const texts = TEXTS.lib.dayClock

/** The day that counts: that of receipt, or that of the event's timestamp. */
export type DayClock = 'received' | 'event'

/** Labels for a choice. */
export const DAY_CLOCKS: Readonly<Record<DayClock, string>> = texts.clocks

/** Explains the days of a chart or table. */
export const dayTitle = (clock: DayClock): string => withUtc(DAY_CLOCKS[clock])

/**
 * A text about days that are UTC in every workspace. It says so where days of the workspace are others: "Today (UTC)".
 * @param isKnown whether all other days are UTC too
 */
export const withUtc = (text: string, isKnown = isInUtc()): string => (isKnown ? text : texts.inUtc(text))
