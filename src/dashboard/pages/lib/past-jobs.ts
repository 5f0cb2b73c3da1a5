import type { Past, Reenrichment } from '../../../../schemas/dashboard/reenrichments.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.pastJobs

/** Which stored visits a change of rules applies to. */
export const PAST_CHOICES = [
  { value: '90', label: texts.last90 },
  { value: 'all', label: texts.all },
  { value: 'none', label: texts.newOnly },
] as const
export type PastChoice = (typeof PAST_CHOICES)[number]['value']

/** Undefined: new visits only. */
export function pastOf(choice: PastChoice): Past | undefined {
  return choice === 'none' ? undefined : { days: choice === 'all' ? null : Number(choice) }
}

const listeners = new Set<(job: Reenrichment) => void>()

/** Tells the parts that show progress of a job that was started here. */
export function pastJobStarted(job: Reenrichment): void {
  for (const listener of listeners) listener(job)
}

/** @returns how to end it */
export function onPastJob(listener: (job: Reenrichment) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
