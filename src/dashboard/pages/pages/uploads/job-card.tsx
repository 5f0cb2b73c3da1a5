import { useRef, useState } from 'preact/hooks'
import type { BatchStatus, BatchSummary, ListedBatchJob } from '../../../../../schemas/api/batch.ts'
import type { UploadList } from '../../../../../schemas/dashboard/uploads.ts'
import { Problem } from '../../components/notes.tsx'
import { Time } from '../../components/time.tsx'
import { post } from '../../lib/api.ts'
import { counted, number } from '../../lib/format.ts'
import { Rate, timeLeft } from '../../lib/rate.ts'

/** How fast jobs go on, by their id, as far as that was seen here. */
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
  /** Of the calls. */
  readonly path: string
  readonly onChange: () => void
}

/** A job, how far it is, and what was in its file. */
export function JobCard({ job, rate, path, onChange }: JobCardProps) {
  const { job_id: id, status, received_at: receivedAt, result_summary: summary, progress_message: message } = job
  const [error, setError] = useState<Error>()
  const isOpen = status === 'queued' || status === 'running'
  const cancel = () => post(`${path}/${id}/cancel`).then(onChange, setError)
  return (
    <article class="card job">
      <header>
        <span class={`tag ${TAGS[status]}`}>{status}</span>
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
      {summary?.warning && <p class="note warning">{summary.warning}</p>}
      {summary && <Counts summary={summary} />}
      {summary && <WrongLines summary={summary} />}
      {error && <Problem error={error} />}
    </article>
  )
}

function failureText({ progress_current: current, progress_total: total }: ListedBatchJob, message: string): string {
  const done = `${number(current)} of ${counted(total, 'line')} were finished; what of them was stored stays.`
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}: ${done}`
}

function Progress({ job, rate }: { readonly job: ListedBatchJob; readonly rate: Rate | undefined }) {
  const { job_id: id, progress_current: current, progress_total: total, status } = job
  const perSecond = rate?.perSecond
  const isMoving = perSecond !== undefined && perSecond > 0
  const facts = [
    status === 'queued' && current === 0
      ? `${counted(total, 'line')} ${total === 1 ? 'waits' : 'wait'} to be processed`
      : `${number(current)} of ${counted(total, 'line')}`,
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

function WrongLines({ summary: { errors, rejected } }: { readonly summary: BatchSummary }) {
  if (errors.length === 0) return null
  return (
    <details class="wrong-lines">
      <summary>
        {`${counted(rejected, 'line')} ${rejected === 1 ? 'was' : 'were'} wrong`}
        {rejected > errors.length && `; the first ${number(errors.length)}`}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <ul tabIndex={0}>
        {errors.map(({ line, detail }) => (
          <li key={line}>
            Line {number(line)}: {detail}
          </li>
        ))}
      </ul>
    </details>
  )
}
