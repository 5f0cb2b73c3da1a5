import { useRef, useState } from 'preact/hooks'
import type { BatchStatus, BatchSummary, ListedBatchJob, RejectedReason } from '../../../../../schemas/api/batch.ts'
import type { UploadList } from '../../../../../schemas/dashboard/uploads.ts'
import { type FilteredCounts, mostFirst } from '../../../../../schemas/filtered.ts'
import { Soft } from '../../components/judgement.tsx'
import { Badge, type Tone } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Disclosure, Facts, Meter } from '../../design/details.tsx'
import { Grow, Row, Stack, Text } from '../../design/layout.tsx'
import { Notice, Problem, sentence } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { Time } from '../../design/time.tsx'
import { post } from '../../lib/api.ts'
import { number } from '../../lib/format.ts'
import { Rate, timeLeft } from '../../lib/rate.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.uploads.job

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

const TONES: Readonly<Record<BatchStatus, Tone>> = {
  queued: 'neutral',
  running: 'accent',
  completed: 'good',
  failed: 'bad',
}

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
    <Card isTight>
      <Row>
        {problem !== null && status === 'completed' ? (
          <Badge tone="bad">{texts.mostWrong}</Badge>
        ) : (
          <Badge tone={TONES[status]}>{status}</Badge>
        )}
        <Grow>
          <strong>{job.file_name ?? job.label ?? texts.lines(job.progress_total)}</strong>{' '}
          <Text as="span" tone="soft" isSmall>
            <code>{id}</code>
          </Text>
        </Grow>
        <Text as="span" tone="soft">
          <Time at={receivedAt} />
        </Text>
        {isOpen && (
          <Button size="s" onClick={cancel}>
            {TEXTS.words.buttons.cancel}
          </Button>
        )}
      </Row>
      {isOpen && <Progress job={job} rate={rate} />}
      {status === 'failed' && <p>{failureText(job, message)}</p>}
      {problem !== null && (
        <Notice tone="bad">
          <p>{sentence(problem)}</p>
        </Notice>
      )}
      {summary?.warning && (
        <Notice tone="warn">
          <p>{summary.warning}</p>
        </Notice>
      )}
      {summary && <Counts summary={summary} />}
      {summary?.filtered_reasons && (
        <Text tone="soft" isSmall>
          {texts.filtered(reasonsOf(summary.filtered_reasons))}
        </Text>
      )}
      {job.rejected > 0 && <WrongLines job={job} />}
      {job.rejected_lines !== null && job.rejected_lines.kept > 0 && !isOpen && (
        <p>
          <a href={`${path}/${id}/rejected`} download>
            {texts.download}
          </a>{' '}
          <Soft>{job.rejected_lines.complete ? texts.allKept : texts.firstKept(job.rejected_lines.kept)}</Soft>
        </p>
      )}
      {error && <Problem error={error} />}
    </Card>
  )
}

function reasonsOf(counts: FilteredCounts): readonly string[] {
  // A later version may have sent reasons of its own.
  return mostFirst(counts).map(([by, events]) => (texts.reasons[by] ?? texts.reasons.other)(number(events)))
}

function failureText({ progress_current: current, progress_total: total }: ListedBatchJob, message: string): string {
  return texts.failed(`${message.charAt(0).toUpperCase()}${message.slice(1)}`, current, total)
}

function Progress({ job, rate }: { readonly job: ListedBatchJob; readonly rate: Rate | undefined }) {
  const { job_id: id, progress_current: current, progress_total: total, status, rejected } = job
  const perSecond = rate?.perSecond
  const isMoving = perSecond !== undefined && perSecond > 0
  const facts = [
    status === 'queued' && current === 0 ? texts.waiting(total) : texts.linesOf(current, total),
    rejected > 0 ? texts.wrong(number(rejected)) : '',
    isMoving ? texts.perSecond(number(Math.round(perSecond))) : '',
    isMoving ? (timeLeft(total - current, perSecond) ?? '') : '',
  ]
  return (
    <>
      <Meter label={texts.progress(id)} value={current} max={Math.max(1, total)} isProgress />
      <Text tone="soft" isSmall>
        {facts.filter((fact) => fact !== '').join(' · ')}
      </Text>
    </>
  )
}

const COUNTS: readonly (readonly [key: string, label: string])[] = [
  ['processed', texts.counts.lines],
  ['valid_ips', texts.counts.validAddresses],
  ['identified_ips', texts.counts.identified],
  ['filtered', texts.counts.filtered],
  ['duplicates', texts.counts.repeats],
  ['invalid_ip', texts.counts.invalidAddresses],
  ['rejected', texts.counts.wrongLines],
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
    <Facts
      min={110}
      facts={shown
        .filter(([key, , count]) => ALWAYS.has(key) || count > 0)
        .map(([, label, count]) => [label, <strong key={label}>{number(count)}</strong>] as const)}
    />
  )
}

/** Invalid lines by reason: listed when they are few, otherwise counted. */
function WrongLines({ job }: { readonly job: ListedBatchJob }) {
  const { rejected, rejected_reasons: reasons, problem, result_summary: summary } = job
  const details = new Map(summary?.errors.map(({ line, detail }) => [line, detail]))
  return (
    <Disclosure summary={texts.wrongCount(rejected)} isOpen={problem !== null}>
      <Stack gap={1}>
        {reasons.map((group) => (
          <Reason key={group.reason} group={group} details={details} />
        ))}
      </Stack>
    </Disclosure>
  )
}

interface ReasonProps {
  readonly group: RejectedReason
  /** The first invalid lines of the job. */
  readonly details: ReadonlyMap<number, string>
}

function Reason({ group: { reason, count, lines }, details }: ReasonProps) {
  if (count <= lines.length) {
    return (
      <>
        {lines.map((line) => (
          <p key={line}>{texts.line(line, details.get(line) ?? reason)}</p>
        ))}
      </>
    )
  }
  return (
    <p>
      <strong>{texts.lines(count)}</strong>: {reason}
      {lines.length > 0 && <Soft> {texts.first(lines.map(number))}</Soft>}
    </p>
  )
}
