import type { Past, Reenrichment } from '../../../../schemas/dashboard/reenrichments.ts'

/** Which stored visits a change of rules applies to. */
export const PAST_CHOICES = [
  { value: '90', label: 'New visits, and those of the last 90 days' },
  { value: 'all', label: 'All visits, old and new' },
  { value: 'none', label: 'New visits only' },
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
