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
import { bytes, capitalised, counted, duration, number, percent } from '../lib/format.ts'
import { useEvents } from '../lib/use-events.ts'
import { DataSets } from './system/data-sets.tsx'
import { type MayFail, TableSection } from './system/section.tsx'
import { Backups, Days, Exports, Inserts, Jobs, Quotas, Sentinel, Waiting } from './system/work.tsx'

const TONES = { ok: 'good', warning: 'warn', stalled: 'bad' } as const

/** Status of the system, for operators: verdict, queues, throughput, stores. */
export function System() {
  const [status, setStatus] = useState<SystemAnswer>()
  const state = useEvents<SystemAnswer>('/api/system/live', 'status', setStatus)
  return (
    <Page
      title="System"
      description="Is every accepted event stored, and is anything about to prevent that?"
      actions={
        status !== undefined && (
          <Pulse state={state === 'open' ? 'good' : 'bad'}>
            {state === 'open' ? 'As of ' : 'Not connected; as of '}
            <Time at={status.at} />
          </Pulse>
        )
      }
    >
      {status !== undefined && <Picture status={status} />}
      {status === undefined && state !== 'lost' && <Loading rows={8} rowHeight={26} />}
      {status === undefined && state === 'lost' && (
        <Notice tone="bad" role="alert">
          <p>The server does not answer or refuses the connection. Trying again; reload the page if this continues.</p>
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
        note={
          status.dedup !== null &&
          `Dedup remembers ${counted(status.dedup.entries, 'event')}, in about ${bytes(status.dedup.bytes)}.`
        }
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

const UNKNOWN = 'unknown'
const UNREAD = 'it cannot be read now'

function Figures({ status }: { readonly status: SystemAnswer }) {
  const { last_minute: minute, oldest, redis, clickhouse, dead_letters: dead } = status
  const hasMinute = failureOf(status, 'processes') === undefined
  const hasStreams = failureOf(status, 'streams') === undefined
  return (
    <Stats>
      <Stat label="Events stored, last minute" value={hasMinute ? number(minute.stored) : UNKNOWN}>
        {hasMinute
          ? `${counted(minute.live_events, 'live event')}, ${counted(minute.batch_lines, 'line')} received`
          : UNREAD}
      </Stat>
      <Stat label="Requests, last minute" value={hasMinute ? number(minute.requests) : UNKNOWN}>
        {hasMinute ? `${number(minute.refused)} refused with 429` : UNREAD}
      </Stat>
      <Stat label="Oldest unfinished" value={oldest !== null ? duration(oldest.age_ms) : hasStreams ? 'none' : UNKNOWN}>
        {oldest !== null ? oldest.where : hasStreams ? 'the queues are empty' : UNREAD}
      </Stat>
      <Stat label="Dead letters" value={hasStreams ? number(dead) : UNKNOWN}>
        <Link href="/system/dead-letters">
          {hasStreams && dead === 0 ? 'nothing to decide' : 'show, retry or discard'}
        </Link>
      </Stat>
      <Memory title="Redis memory" used={redis?.used_bytes} max={redis?.max_bytes} share={redis?.used_share} />
      <Memory title="ClickHouse memory" used={clickhouse?.memory_bytes} max={clickhouse?.memory_max_bytes} />
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
  if (max === 0) return part(bytes(used), 'no limit is set')
  const full = share ?? used / max
  return part(
    bytes(used),
    <>
      {percent(full)} of {bytes(max)}
      <Meter label={`${title}, share of its limit`} value={full} max={1} warnFrom={FULL} />
    </>,
  )
}

/** Warnings and errors of the logs, newest first. */
function Problems({ errors, failure }: { readonly errors: SystemAnswer['errors'] } & MayFail) {
  return (
    <TableSection
      title="Last warnings and errors"
      none="No recent warnings or errors."
      failure={failure}
      rows={errors}
      keyOf={({ at, process, message }) => `${at} ${process} ${message}`}
      columns={[
        { key: 'when', label: 'When', render: ({ at }) => <Time at={at} isAgo /> },
        {
          key: 'level',
          label: 'Level',
          inCard: 'plain',
          render: ({ level }) => <Badge tone={level === 'warn' ? 'warn' : 'bad'}>{level}</Badge>,
        },
        { key: 'process', label: 'Process', inCard: 'plain', render: ({ process }) => process },
        { key: 'what', label: 'What', text: 'wrap', inCard: 'whole', render: ({ message }) => message },
        { key: 'times', label: 'Times', isNumber: true, render: ({ times }) => number(times) },
      ]}
    />
  )
}

/** Processes with a recent report. */
function Processes({ processes, failure }: { readonly processes: SystemAnswer['processes'] } & MayFail) {
  return (
    <TableSection
      title="Processes"
      none="No process has reported in the last 20 seconds."
      failure={failure}
      rows={processes}
      keyOf={({ host, pid }) => `${host} ${pid}`}
      columns={[
        { key: 'roles', label: 'Roles', render: ({ roles }) => roles.join(', ') },
        { key: 'machine', label: 'Machine', render: ({ host }) => host },
        { key: 'pid', label: 'Process id', isNumber: true, render: ({ pid }) => pid },
        { key: 'version', label: 'Version', render: ({ version }) => version },
        { key: 'since', label: 'Runs since', render: ({ started_at: at }) => <Time at={at} /> },
      ]}
    />
  )
}
