import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { SystemAnswer } from '../../../../schemas/dashboard/system.ts'
import { Loading } from '../components/notes.tsx'
import { Time } from '../components/time.tsx'
import { duration } from '../lib/durations.ts'
import { bytes, counted, number, percent } from '../lib/format.ts'
import { useEvents } from '../lib/use-events.ts'
import { DataSets } from './system/data-sets.tsx'
import { Problems, Processes } from './system/processes.tsx'
import { Inserts, Jobs, Quotas, Waiting } from './system/work.tsx'

const NOTES = { ok: 'note good', warning: 'note warning', stalled: 'note problem' } as const

/** Status of the system, for operators: verdict, queues, throughput, stores. */
export function System() {
  const [status, setStatus] = useState<SystemAnswer>()
  const state = useEvents<SystemAnswer>('/api/system/live', 'status', setStatus)
  return (
    <>
      <h1>System</h1>
      {status === undefined ? (
        <Loading
          label={
            state === 'lost'
              ? 'The server does not answer or refuses the connection. Trying again; reload the page if this continues.'
              : 'Looking…'
          }
        />
      ) : (
        <Picture status={status} isFresh={state === 'open'} />
      )}
    </>
  )
}

/** Why a part of the status could not be read, if so. */
function failureOf({ unknown }: SystemAnswer, part: string): string | undefined {
  const start = `${part}: `
  return unknown.find((text) => text.startsWith(start))?.slice(start.length)
}

function Picture({ status, isFresh }: { readonly status: SystemAnswer; readonly isFresh: boolean }) {
  const of = (part: string) => failureOf(status, part)
  const ofProcesses = of('processes')
  return (
    <>
      <p class={NOTES[status.verdict.level]}>{status.verdict.text}</p>
      <Figures status={status} />
      <Waiting groups={status.waiting} failure={of('streams')} />
      {status.dedup !== null && (
        <p class="soft">
          Dedup remembers {counted(status.dedup.entries, 'event')}, in about {bytes(status.dedup.bytes)}.
        </p>
      )}
      <Jobs batch={status.batch_jobs} bulk={status.bulk_jobs} failure={of('batch jobs') ?? of('bulk jobs')} />
      {(status.quotas !== null || of('quotas') !== undefined) && (
        <Quotas quotas={status.quotas ?? []} failure={of('quotas')} />
      )}
      <Inserts inserts={status.inserts} failure={ofProcesses} />
      <DataSets sets={status.data} update={status.data_update} failure={ofProcesses} />
      <Problems errors={status.errors} failure={ofProcesses} />
      <Processes processes={status.processes} failure={ofProcesses} />
      <p class="soft">
        {isFresh ? 'As of ' : 'Not connected; as of '}
        <Time at={status.at} />, updated every 2 seconds while this page is visible.
      </p>
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
    <div class="cards system-cards">
      <Figure title="Events stored, last minute" value={hasMinute ? number(minute.stored) : UNKNOWN}>
        {hasMinute
          ? `${counted(minute.live_events, 'live event')}, ${counted(minute.batch_lines, 'line')} received`
          : UNREAD}
      </Figure>
      <Figure title="Requests, last minute" value={hasMinute ? number(minute.requests) : UNKNOWN}>
        {hasMinute ? `${number(minute.refused)} refused with 429` : UNREAD}
      </Figure>
      <Figure
        title="Oldest unfinished"
        value={oldest !== null ? duration(oldest.age_ms) : hasStreams ? 'none' : UNKNOWN}
      >
        {oldest !== null ? oldest.where : hasStreams ? 'the queues are empty' : UNREAD}
      </Figure>
      <Figure title="Dead letters" value={hasStreams ? number(dead) : UNKNOWN}>
        <Link href="/system/dead-letters">
          {hasStreams && dead === 0 ? 'nothing to decide' : 'show, retry or discard'}
        </Link>
      </Figure>
      <Memory title="Redis memory" used={redis?.used_bytes} max={redis?.max_bytes} share={redis?.used_share} />
      <Memory title="ClickHouse memory" used={clickhouse?.memory_bytes} max={clickhouse?.memory_max_bytes} />
    </div>
  )
}

function Figure({ title, value, children }: { title: string; value: string; children: ComponentChildren }) {
  return (
    <section class="card">
      <h2 class="figure-title">{title}</h2>
      <p class="figure">{value}</p>
      <p class="soft">{children}</p>
    </section>
  )
}

function Memory({ title, used, max, share }: { title: string; used?: number; max?: number; share?: number }) {
  if (used === undefined) {
    return (
      <Figure title={title} value={UNKNOWN}>
        {UNREAD}
      </Figure>
    )
  }
  if (max === undefined || max === 0) {
    return (
      <Figure title={title} value={bytes(used)}>
        no limit is set
      </Figure>
    )
  }
  return (
    <Figure title={title} value={bytes(used)}>
      <meter min={0} max={1} high={0.85} value={share ?? used / max} aria-label={`${title}, share of its limit`} />
      {percent(share ?? used / max)} of {bytes(max)}
    </Figure>
  )
}
