import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { SystemAnswer } from '../../../../schemas/dashboard/system.ts'
import { Badge } from '../design/badge.tsx'
import { Meter } from '../design/details.tsx'
import { Notice } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Pulse } from '../design/pulse.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Stat, Stats } from '../design/stat.tsx'
import { Time } from '../design/time.tsx'
import { bytes, capitalised, duration, number, percent } from '../lib/format.ts'
import { useEvents } from '../lib/use-events.ts'
import { TEXTS } from '../texts/texts.ts'
import { DataSets } from './system/data-sets.tsx'
import { type MayFail, TableSection } from './system/section.tsx'
import { Backups, Days, Exports, Inserts, Jobs, Quotas, Sentinel, Waiting } from './system/work.tsx'

const texts = TEXTS.system.page

const TONES = { ok: 'good', warning: 'warn', stalled: 'bad' } as const

/** Status of the system, for operators: verdict, queues, throughput, stores. */
export function System() {
  const [status, setStatus] = useState<SystemAnswer>()
  const state = useEvents<SystemAnswer>('/api/system/live', 'status', setStatus)
  return (
    <Page
      title={texts.title}
      description={texts.about}
      actions={
        status !== undefined && (
          <Pulse state={state === 'open' ? 'good' : 'bad'}>
            {(state === 'open' ? texts.asOf : texts.notConnected)(<Time at={status.at} />)}
          </Pulse>
        )
      }
    >
      {status !== undefined && <Picture status={status} />}
      {status === undefined && state !== 'lost' && <Loading rows={8} rowHeight={26} />}
      {status === undefined && state === 'lost' && (
        <Notice tone="bad" role="alert">
          <p>{texts.lost}</p>
        </Notice>
      )}
    </Page>
  )
}

/** Why a part of the status could not be read, if so. */
function failureOf({ unknown }: SystemAnswer, part: string): string | undefined {
  const start = `${part}: `
  return unknown.find((text) => text.startsWith(start))?.slice(start.length)
}

function Picture({ status }: { readonly status: SystemAnswer }) {
  const of = (part: string) => failureOf(status, part)
  const ofProcesses = of('processes')
  return (
    <>
      <Notice tone={TONES[status.verdict.level]}>
        <p>{capitalised(status.verdict.text)}</p>
      </Notice>
      <Figures status={status} />
      <Problems errors={status.errors} failure={ofProcesses} />
      <Waiting
        groups={status.waiting}
        failure={of('streams')}
        note={status.dedup !== null && texts.dedup(status.dedup.entries, bytes(status.dedup.bytes))}
      />
      <Jobs batch={status.batch_jobs} bulk={status.bulk_jobs} failure={of('batch jobs') ?? of('bulk jobs')} />
      {(status.exports.worst.length > 0 || of('exports') !== undefined) && (
        <Exports exports={status.exports} failure={of('exports')} />
      )}
      {(status.backup !== null || of('backups') !== undefined) && (
        <Backups backup={status.backup} failure={of('backups')} />
      )}
      {status.days !== null && (status.days.waits || status.days.stale !== 0) && <Days days={status.days} />}
      {(status.quotas !== null || of('quotas') !== undefined) && (
        <Quotas quotas={status.quotas ?? []} failure={of('quotas')} />
      )}
      {status.redis?.sentinel !== undefined && <Sentinel sentinel={status.redis.sentinel} />}
      <Inserts inserts={status.inserts} failure={ofProcesses} />
      <DataSets sets={status.data} update={status.data_update} failure={ofProcesses} />
      <Processes processes={status.processes} failure={ofProcesses} />
    </>
  )
}

const UNKNOWN = texts.unknown
const UNREAD = texts.unread

function Figures({ status }: { readonly status: SystemAnswer }) {
  const { last_minute: minute, oldest, redis, clickhouse, dead_letters: dead } = status
  const hasMinute = failureOf(status, 'processes') === undefined
  const hasStreams = failureOf(status, 'streams') === undefined
  return (
    <Stats>
      <Stat label={texts.stored} value={hasMinute ? number(minute.stored) : UNKNOWN}>
        {hasMinute ? texts.receivedLines(minute.live_events, minute.batch_lines) : UNREAD}
      </Stat>
      <Stat label={texts.requests} value={hasMinute ? number(minute.requests) : UNKNOWN}>
        {hasMinute ? texts.refused(number(minute.refused)) : UNREAD}
      </Stat>
      <Stat label={texts.oldest} value={oldest !== null ? duration(oldest.age_ms) : hasStreams ? texts.none : UNKNOWN}>
        {oldest !== null ? oldest.where : hasStreams ? texts.empty : UNREAD}
      </Stat>
      <Stat label={texts.deadLetters} value={hasStreams ? number(dead) : UNKNOWN}>
        <Link href="/system/dead-letters">{hasStreams && dead === 0 ? texts.nothingToDecide : texts.decide}</Link>
      </Stat>
      <Memory title={texts.redisMemory} used={redis?.used_bytes} max={redis?.max_bytes} share={redis?.used_share} />
      <Memory title={texts.clickhouseMemory} used={clickhouse?.memory_bytes} max={clickhouse?.memory_max_bytes} />
    </Stats>
  )
}

const FULL = 0.85

interface MemoryProps {
  readonly title: string
  readonly used?: number
  readonly max?: number
  readonly share?: number
}

function Memory({ title, used, max = 0, share }: MemoryProps) {
  const part = (value: string, note: ComponentChildren) => (
    <Stat label={title} value={value}>
      {note}
    </Stat>
  )
  if (used === undefined) return part(UNKNOWN, UNREAD)
  if (max === 0) return part(bytes(used), texts.noLimit)
  const full = share ?? used / max
  return part(
    bytes(used),
    <>
      {texts.ofMax(percent(full), bytes(max))}
      <Meter label={texts.shareOf(title)} value={full} max={1} warnFrom={FULL} />
    </>,
  )
}

/** Warnings and errors of the logs, newest first. */
function Problems({ errors, failure }: { readonly errors: SystemAnswer['errors'] } & MayFail) {
  return (
    <TableSection
      title={texts.problems}
      none={texts.noProblems}
      failure={failure}
      rows={errors}
      keyOf={({ at, process, message }) => `${at} ${process} ${message}`}
      columns={[
        { key: 'when', label: texts.when, render: ({ at }) => <Time at={at} isAgo /> },
        {
          key: 'level',
          label: texts.level,
          inCard: 'plain',
          render: ({ level }) => <Badge tone={level === 'warn' ? 'warn' : 'bad'}>{level}</Badge>,
        },
        { key: 'process', label: texts.process, inCard: 'plain', render: ({ process }) => process },
        { key: 'what', label: texts.what, text: 'wrap', inCard: 'whole', render: ({ message }) => message },
        { key: 'times', label: texts.times, isNumber: true, render: ({ times }) => number(times) },
      ]}
    />
  )
}

/** Processes with a recent report. */
function Processes({ processes, failure }: { readonly processes: SystemAnswer['processes'] } & MayFail) {
  return (
    <TableSection
      title={texts.processes}
      none={texts.noProcess}
      failure={failure}
      rows={processes}
      keyOf={({ host, pid }) => `${host} ${pid}`}
      columns={[
        { key: 'roles', label: texts.roles, render: ({ roles }) => roles.join(', ') },
        { key: 'machine', label: texts.machine, render: ({ host }) => host },
        { key: 'pid', label: texts.pid, isNumber: true, render: ({ pid }) => pid },
        { key: 'version', label: texts.version, render: ({ version }) => version },
        { key: 'since', label: texts.since, render: ({ started_at: at }) => <Time at={at} /> },
      ]}
    />
  )
}
