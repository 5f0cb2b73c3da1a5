import { ALERT_LIMITS, type AlertRecord, JOB_TYPE } from '../../schemas/alert.ts'
import { EXPORT_TIME } from '../../schemas/limits.ts'
import { InputError } from '../run/errors.ts'

const ADDRESS = /^[^\s@<>,;:"()[\]\\]{1,64}@[^\s@<>,;:"()[\]\\.]+(?:\.[^\s@<>,;:"()[\]\\.]+)+$/

/** Facts of an alert that depend on each other. */
type AlertFacts = Pick<AlertRecord, 'on' | 'to'> & {
  readonly afterDays?: number | undefined
  /** Name or id of its segment. */
  readonly segment?: string | undefined
  readonly digest?: string | undefined
  readonly every?: string | undefined
  readonly at?: string | undefined
  readonly export?: object | undefined
  readonly once?: true | undefined
}

/** @throws InputError */
export function assertAlertFacts({ on, afterDays, segment, digest, every, at, to, ...of }: AlertFacts): void {
  const { afterDaysMin, afterDaysMax } = ALERT_LIMITS
  if (on === 'segment.entered' && segment === undefined) {
    throw new InputError('segment.entered needs a segment', { field: 'segment' })
  }
  if (on === JOB_TYPE && segment !== undefined)
    throw new InputError('a segment is for alerts about companies', { field: 'segment' })
  if (on === JOB_TYPE && digest !== undefined) throw new InputError('a digest is for alerts about companies')
  if (afterDays !== undefined && on !== 'company.returned')
    throw new InputError('a number of days is for company.returned only')
  if (afterDays !== undefined && (afterDays < afterDaysMin || afterDays > afterDaysMax))
    throw new InputError(`the number of days must be ${afterDaysMin} to ${afterDaysMax}`, { field: 'after_days' })
  if (at !== undefined && !new RegExp(EXPORT_TIME).test(at)) {
    throw new InputError(`${JSON.stringify(at)} is no time of day: write HH:MM, such as 08:00`, { field: 'at' })
  }
  const isScheduled = every !== undefined && at !== undefined && to === 'email' && digest === undefined
  if (on === 'digest' ? !isScheduled : every !== undefined || at !== undefined)
    throw new InputError('a digest is an e-mail with a schedule, and an alert has none')
  if (digest !== undefined && to !== 'email') throw new InputError('a digest is for e-mail only')
  const isPlain = to === 'email' && digest === undefined && segment === undefined && of.export !== undefined
  if (on === 'export' ? !isPlain : of.export !== undefined || of.once !== undefined)
    throw new InputError('a subscription to an export is an e-mail with its files, and nothing else has an export')
}

/** @throws InputError when it is not one e-mail address, for example because a line break would add a header to a message */
export function assertEmailAddress(text: string): void {
  if (!ADDRESS.test(text) || /\p{C}/u.test(text)) throw wrongTarget(`${JSON.stringify(text)} is not an e-mail address`)
}

/** Why neither an alert nor a test of it sends anything. */
export function waitsFor(address: string): string {
  return `waits for ${address} to confirm`
}

export function wrongTarget(message: string, cause?: Error): InputError {
  return new InputError(message, { field: 'target', cause })
}
