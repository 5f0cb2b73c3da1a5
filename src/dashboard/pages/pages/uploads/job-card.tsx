import { useRef, useState } from 'preact/hooks'
import type { BatchStatus, BatchSummary, ListedBatchJob, RejectedReason } from '../../../../../schemas/api/batch.ts'
import type { UploadList } from '../../../../../schemas/dashboard/uploads.ts'
import { Problem, sentence } from '../../components/notes.tsx'
import { Time } from '../../components/time.tsx'
import { post } from '../../lib/api.ts'
import { counted, number } from '../../lib/format.ts'
import { Rate, timeLeft } from '../../lib/rate.ts'

/** Observed speed of jobs, by id. */
export function useJobRates(jobs: readonly ListedBatchJob[] | undefined): ReadonlyMap<string, Rate> {
  const rates = useRef(new Map<string, Rate>())
  const seen = useRef(jobs)
  if (jobs !== undefined && seen.current !== jobs) {
    for (const { job_id: id, status, progress_current: current } of jobs) {
      if (status === 'completed' || status === 'failed') continue
      const rate = rates.current.get(id) ?? new Rate()
      rates.current.set(id, rate)
      rate.add(current)
    }
  }
  seen.current = jobs
  return rates.current
}

const TAGS: Readonly<Record<BatchStatus, string>> = { queued: '', running: '', completed: 'good', failed: 'bad' }

interface JobCardProps {
  readonly job: UploadList['jobs'][number]
  readonly rate: Rate | undefined
  /** Path of its calls. */
  readonly path: string
  readonly onChange: () => void
}

/** A job, its progress, and the contents of its file. */
export function JobCard({ job, rate, path, onChange }: JobCardProps) {
  const { job_id: id, status, received_at: receivedAt, result_summary: summary, progress_message: message } = job
  const { problem } = job
  const [error, setError] = useState<Error>()
  const isOpen = status === 'queued' || status === 'running'
  const cancel = () => post(`${path}/${id}/cancel`).then(onChange, setError)
  return (
    <article class="card job">
      <header>
        {problem !== null && status === 'completed' ? (
          <span class="tag bad">most lines wrong</span>
        ) : (
          <span class={`tag ${TAGS[status]}`}>{status}</span>
        )}
        <strong class="job-name">{job.file_name ?? counted(job.progress_total, 'line')}</strong>
        <span class="soft">
          <Time at={receivedAt} />
        </span>
        {isOpen && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
      </header>
      <p class="soft job-id">
        Job <code>{id}</code>
      </p>
      {isOpen && <Progress job={job} rate={rate} />}
      {status === 'failed' && <p>{failureText(job, message)}</p>}
      {problem !== null && <p class="note problem">{sentence(problem)}</p>}
      {summary?.warning && <p class="note warning">{summary.warning}</p>}
      {summary && <Counts summary={summary} />}
      {job.rejected > 0 && <WrongLines job={job} />}
      {error && <Problem error={error} />}
    </article>
  )
}

function failureText({ progress_current: current, progress_total: total }: ListedBatchJob, message: string): string {
  const done = `${number(current)} of ${counted(total, 'line')} were finished; what of them was stored stays.`
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}: ${done}`
}

function Progress({ job, rate }: { readonly job: ListedBatchJob; readonly rate: Rate | undefined }) {
  const { job_id: id, progress_current: current, progress_total: total, status, rejected } = job
  const perSecond = rate?.perSecond
  const isMoving = perSecond !== undefined && perSecond > 0
  const facts = [
    status === 'queued' && current === 0
      ? `${counted(total, 'line')} ${total === 1 ? 'waits' : 'wait'} to be processed`
      : `${number(current)} of ${counted(total, 'line')}`,
    rejected > 0 ? `${number(rejected)} wrong` : '',
    isMoving ? `${number(Math.round(perSecond))} a second` : '',
    isMoving ? (timeLeft(total - current, perSecond) ?? '') : '',
  ]
  return (
    <>
      <progress aria-label={`Progress of job ${id}`} value={current} max={Math.max(1, total)} />
      <p class="soft facts">{facts.filter((fact) => fact !== '').join(' · ')}</p>
    </>
  )
}

const COUNTS: readonly (readonly [key: string, label: string])[] = [
  ['processed', 'Lines'],
  ['valid_ips', 'Valid addresses'],
  ['identified_ips', 'Identified'],
  ['filtered', 'Filtered'],
  ['duplicates', 'Repeats'],
  ['invalid_ip', 'Invalid addresses'],
  ['rejected', 'Wrong lines'],
]
const ALWAYS = new Set(['processed', 'valid_ips', 'identified_ips', 'filtered', 'duplicates'])

function Counts({ summary }: { readonly summary: BatchSummary }) {
  const known = new Map(COUNTS)
  const others = Object.keys(summary).filter(
    (key) => !known.has(key) && typeof summary[key as keyof BatchSummary] === 'number',
  )
  const counts = [...COUNTS, ...others.map((key) => [key, key.replaceAll('_', ' ')] as const)]
  const shown = counts.map(([key, label]) => [key, label, Number(summary[key as keyof BatchSummary] ?? 0)] as const)
  return (
    <dl class="job-counts">
      {shown
        .filter(([key, , count]) => ALWAYS.has(key) || count > 0)
        .map(([key, label, count]) => (
          <div key={key}>
            <dt>{label}</dt>
            <dd>{number(count)}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Invalid lines by reason: listed when they are few, otherwise counted. */
function WrongLines({ job }: { readonly job: ListedBatchJob }) {
  const { rejected, rejected_reasons: reasons, problem, result_summary: summary } = job
  const details = new Map(summary?.errors.map(({ line, detail }) => [line, detail]))
  return (
    <details class="wrong-lines" open={problem !== null}>
      <summary>{`${counted(rejected, 'line')} ${rejected === 1 ? 'was' : 'were'} wrong`}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs the keyboard */}
      <ul tabIndex={0}>
        {reasons.map((group) => (
          <Reason key={group.reason} group={group} details={details} />
        ))}
      </ul>
    </details>
  )
}

interface ReasonProps {
  readonly group: RejectedReason
  /** The first invalid lines of the job. */
  readonly details: ReadonlyMap<number, string>
}

function Reason({ group: { reason, count, lines }, details }: ReasonProps) {
  if (count <= lines.length) {
    return lines.map((line) => (
      <li key={line}>
        Line {number(line)}: {details.get(line) ?? reason}
      </li>
    ))
  }
  return (
    <li>
      <strong>{counted(count, 'line')}</strong>: {reason}
      {lines.length > 0 && <span class="soft"> (first {lines.map(number).join(', ')})</span>}
    </li>
  )
}
