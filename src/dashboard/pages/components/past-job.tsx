import { useEffect, useRef, useState } from 'preact/hooks'
import type { Reenrichment, ReenrichmentsAnswer } from '../../../../schemas/dashboard/reenrichments.ts'
import { Button } from '../design/button.tsx'
import { Meter } from '../design/details.tsx'
import { FieldError } from '../design/field.tsx'
import { Notice } from '../design/notice.tsx'
import { post } from '../lib/api.ts'
import { duration, time } from '../lib/format.ts'
import { onPastJob } from '../lib/past-jobs.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.pastJob

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
        title={texts.titles[job.state]}
      >
        <p>
          {endText(job)} {rulesText(job)} {job.ended_at !== null && texts.endedBy(time(job.ended_at), job.requested_by)}
        </p>
      </Notice>
    )
  }
  const canCancel = job.step !== 'replacing' && !job.is_cancelling
  return (
    <Notice title={texts.titles[job.state]}>
      <p role="status">
        {progressText(job)} {rulesText(job)}
      </p>
      {job.state === 'running' && <Meter label={texts.progress} value={job.share} max={1} isProgress />}
      {job.problem !== null && <p>{texts.again(job.problem)}</p>}
      {canCancel && (
        <Button size="s" disabled={cancelling.isBusy} onClick={cancel}>
          {TEXTS.words.buttons.cancel}
        </Button>
      )}
      <FieldError error={cancelling.error} />
    </Notice>
  )
}

/** "Looking through …: 34 %, 1,204 events to change, about 20 s left." */
function progressText({ state, step, share, changed_events, seconds_left, is_cancelling }: Reenrichment): string {
  if (state === 'waiting') return texts.starts
  if (is_cancelling) return texts.stops
  const left = seconds_left === null ? undefined : duration(seconds_left * 1_000)
  return texts.stepAt(texts.steps[step ?? 'settling'], Math.floor(share * 100), changed_events, left)
}

function endText({ state, result, problem }: Reenrichment): string {
  if (state === 'failed') return texts.failed(problem ?? texts.unknownError)
  if (result === null) return texts.nothingChanged
  return texts.changed({
    ...{ hidden: result.filtered_visits, shown: result.shown_visits, deleted: result.deleted_events },
    ...{ corrected: result.changed_visits, returned: result.returned_events, notJudged: result.not_judged_events },
  })
}

const RULES_SHOWN = 3

function rulesText({ rules, days }: Reenrichment) {
  const listed = rules.slice(0, RULES_SHOWN).map((rule) => <code key={rule}>{rule}</code>)
  return <>{texts.scope(days, listed, rules.length - RULES_SHOWN)}</>
}
