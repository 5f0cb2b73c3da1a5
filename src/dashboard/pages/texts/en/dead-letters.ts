import { number } from '../../lib/format.ts'
import { type Part, parts } from '../parts.ts'

interface Changed {
  readonly done: number
  readonly gone: number
  readonly refused: number
}

const rest = ({ gone, refused }: Changed) =>
  [
    ...(gone > 0 ? [`, ${number(gone)} gone meanwhile`] : []),
    ...(refused > 0 ? [`, ${number(refused)} left unchanged`] : []),
  ].join('')

export const deadLetters = {
  letter: {
    title: (id: Part) => parts`Dead letter ${id}`,
    letters: 'Dead letters',
    retried: 'The event is processed again.',
    discarded: 'The event is discarded.',
    why: 'Why it failed',
    reason: 'Reason',
    received: 'Received',
    givenUp: 'Given up',
    by: 'By',
    where: 'Where it was',
    lane: (stream: string, lane: string) => `${stream}, ${lane} lane`,
    job: 'Job',
    event: 'The event',
    unreadable: 'The event cannot be read.',
    whatToDo: 'What to do',
    aboutRetry: 'Retry processes it again, from the step that failed. It counts once.',
    notRetried: (reason: string) => `It cannot be retried: ${reason}.`,
    retry: 'Retry',
    discard: 'Discard…',
    discardTitle: 'Discard this event?',
    discardNow: 'Discard',
    final: 'This deletes it for good. A later event with the same id is new.',
  },
  list: {
    title: 'Dead letters',
    about: 'Events that could not be processed. Each waits here until somebody retries or discards it.',
    system: 'System',
    reasonPart: 'Part of the reason',
    noRecent: 'No recent dead letter matches this reason',
    lookOlder: 'Look at older ones.',
    noMatch: 'No dead letter matches this reason',
    shorter: 'Type a shorter part of it.',
    none: 'No dead letters: every event was processed',
    noOlder: 'No older dead letters',
    aboutLetters: 'An event that cannot be processed waits here until you retry or discard it.',
    givenUp: 'Given up',
    reason: 'Reason',
    tenant: 'Tenant',
    unknown: 'unknown',
    event: 'Event',
    noId: 'none',
    by: 'By',
    lane: 'Lane',
    received: 'Received',
    stop: 'Stop',
    leave: 'Leave them',
    retryThem: 'Retry them',
    discardThem: 'Discard them',
    underWay: 'Under way…',
    newStay: 'New dead letters stay.',
    retryAll: 'Retry all…',
    retryThese: 'Retry all of these…',
    discardAll: 'Discard all…',
    discardThese: 'Discard all of these…',
    retryTitle: (reason: string) =>
      reason === '' ? 'Retry every dead letter?' : `Retry every dead letter whose reason has “${reason}”?`,
    discardTitle: (reason: string) =>
      reason === '' ? 'Discard every dead letter?' : `Discard every dead letter whose reason has “${reason}”?`,
    which: 'Those on this page and all older ones, of all tenants.',
    aboutRetry: 'Each is processed again and counts once. Letters that cannot be retried stay.',
    aboutDiscard: 'This deletes them for good.',
    retried: (letters: Changed) => `${number(letters.done)} retried${rest(letters)}.`,
    discarded: (letters: Changed) => `${number(letters.done)} discarded${rest(letters)}.`,
  },
}
