import { Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Reenrichment, ReenrichmentsAnswer } from '../../../../schemas/dashboard/reenrichments.ts'
import { Button } from '../design/button.tsx'
import { Meter } from '../design/details.tsx'
import { FieldError } from '../design/field.tsx'
import { Notice } from '../design/notice.tsx'
import { post } from '../lib/api.ts'
import { counted, duration, time } from '../lib/format.ts'
import { onPastJob } from '../lib/past-jobs.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'

interface PastJobProps {
  readonly tenant: string
  /** Called when a job that was seen open has ended. */
  readonly ended?: () => void
  /** Also shows a job that ended before. */
  readonly showsLast?: boolean
}

const OPEN_EVERY_MS = 1_500

/** The job that applies rules to stored visits, with its progress; nothing while there is none. */
export function PastJob({ tenant, ended, showsLast = false }: PastJobProps) {
  const [isOpen, setOpen] = useState(false)
  const [seen, setSeen] = useState<string>()
  const path = `/api/tenants/${tenant}/reenrichments`
  const { value, reload } = useData<ReenrichmentsAnswer>(path, {}, isOpen ? OPEN_EVERY_MS : undefined)
  useEffect(
    () =>
      onPastJob((job) => {
        setSeen(job.job_id)
        setOpen(true)
        reload()
      }),
    [],
  )
  const shown = value === undefined ? undefined : shownOf(value, seen)
  const state = shown?.state
  const wasOpen = useRef<string>()
  useEffect(() => {
    if (shown === undefined) return
    const isOpenNow = isUnfinished(shown)
    setOpen(isOpenNow)
    if (isOpenNow) {
      wasOpen.current = shown.job_id
      setSeen(shown.job_id)
    } else if (wasOpen.current === shown.job_id) {
      wasOpen.current = undefined
      ended?.()
    }
  }, [shown?.job_id, state])
  if (shown === undefined || (!isUnfinished(shown) && !showsLast && seen !== shown.job_id)) return null
  return <Shown path={path} job={shown} reload={reload} />
}

/** The job that was started here, or else the one that runs, waits or ended last. */
function shownOf({ job, waiting }: ReenrichmentsAnswer, seen: string | undefined): Reenrichment | undefined {
  const all = [job, waiting].filter((each) => each !== null)
  return (
    all.find((each) => each.job_id === seen && isUnfinished(each)) ??
    all.find(isUnfinished) ??
    all.find((each) => each.job_id === seen) ??
    all[0]
  )
}

function isUnfinished({ state }: Reenrichment): boolean {
  return state === 'waiting' || state === 'running'
}

function Shown({
  path,
  job,
  reload,
}: {
  readonly path: string
  readonly job: Reenrichment
  readonly reload: () => void
}) {
  const cancelling = useAction()
  const cancel = () =>
    cancelling.run(async () => {
      await post<ReenrichmentsAnswer>(`${path}/cancel`, { job_id: job.job_id })
      reload()
    })
  if (!isUnfinished(job)) {
    const isDone = job.state === 'done'
    return (
      <Notice
        tone={isDone ? 'good' : job.state === 'failed' ? 'bad' : 'neutral'}
        role="status"
        title={TITLES[job.state]}
      >
        <p>
          {endText(job)} {rulesText(job)} {job.ended_at !== null && `${time(job.ended_at)}, by ${job.requested_by}.`}
        </p>
      </Notice>
    )
  }
  const canCancel = job.step !== 'replacing' && !job.is_cancelling
  return (
    <Notice title={TITLES[job.state]}>
      <p role="status">
        {progressText(job)} {rulesText(job)}
      </p>
      {job.state === 'running' && <Meter label="Progress of the update" value={job.share} max={1} isProgress />}
      {job.problem !== null && <p>It is tried again, because of an error: {job.problem}</p>}
      {canCancel && (
        <Button size="s" disabled={cancelling.isBusy} onClick={cancel}>
          Cancel
        </Button>
      )}
      <FieldError error={cancelling.error} />
    </Notice>
  )
}

const TITLES = {
  waiting: 'Stored visits will be updated',
  running: 'Stored visits are being updated',
  done: 'Stored visits are up to date',
  cancelled: 'The update of stored visits was cancelled',
  failed: 'Stored visits could not be updated',
} as const

const STEPS = {
  settling: 'Waiting until all received visits are stored',
  judging: 'Looking through the stored visits; nothing is changed yet',
  replacing: 'Changing visits; this step cannot be stopped',
  archive: 'Bringing filtered visits back',
} as const

/** "Looking through …: 34 %, 1,204 events to change, about 20 s left." */
function progressText({ state, step, share, changed_events, seconds_left, is_cancelling }: Reenrichment): string {
  if (state === 'waiting') return 'It starts as soon as other work on stored visits has ended.'
  if (is_cancelling) return 'It stops at the next safe point.'
  const parts = [
    `${STEPS[step ?? 'settling']}: ${Math.floor(share * 100)} %`,
    ...(changed_events > 0 ? [`${counted(changed_events, 'event')} to change`] : []),
    ...(seconds_left === null ? [] : [`about ${duration(seconds_left * 1_000)} left`]),
  ]
  return `${parts.join(', ')}.`
}

function endText({ state, result, problem }: Reenrichment): string {
  if (state === 'failed') return `${problem ?? 'An unknown error'}. The rules apply to new visits.`
  if (result === null) return 'Nothing stored was changed. The rules apply to new visits.'
  const parts = [
    ...(result.filtered_visits > 0 ? [`${counted(result.filtered_visits, 'visit')} are hidden`] : []),
    ...(result.shown_visits > 0 ? [`${counted(result.shown_visits, 'hidden visit')} are shown again`] : []),
    ...(result.deleted_events > 0 ? [`${counted(result.deleted_events, 'hidden event')} are deleted for good`] : []),
    ...(result.changed_visits > 0 ? [`${counted(result.changed_visits, 'visit')} now have their right company`] : []),
    ...(result.returned_events > 0 ? [`${counted(result.returned_events, 'filtered event')} are back`] : []),
  ]
  const stays =
    result.not_judged_events > 0
      ? ` ${counted(result.not_judged_events, 'event')} were stored without an address and stay as they are.`
      : ''
  return `${parts.length === 0 ? 'No stored visit had to change' : parts.join(', ').replaceAll(/\b1 ([\w ]+?) are/g, '1 $1 is')}.${stays}`
}

const RULES_SHOWN = 3

function rulesText({ rules, days }: Reenrichment) {
  const more = rules.length - RULES_SHOWN
  return (
    <>
      {days === null ? 'All days' : days === 0 ? 'Hidden visits' : `Last ${counted(days, 'day')}`}
      {rules.length > 0 && ': '}
      {rules.slice(0, RULES_SHOWN).map((rule, at) => (
        <Fragment key={rule}>
          {at > 0 && ', '}
          <code>{rule}</code>
        </Fragment>
      ))}
      {more > 0 && ` and ${more} more`}.
    </>
  )
}
