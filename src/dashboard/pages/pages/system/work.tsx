import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { SystemAnswer, SystemJobs } from '../../../../../schemas/dashboard/system.ts'
import { Time } from '../../design/time.tsx'
import { bytes, duration, number, percent } from '../../lib/format.ts'
import { type MayFail, TableSection } from './section.tsx'

/** A column of numbers. */
function figure(key: string, label: string) {
  return { key, label, isNumber: true as const }
}

interface WaitingProps extends MayFail {
  readonly groups: SystemAnswer['waiting']
  readonly note: ComponentChildren
}

/** Queues by consumer group and lane. */
export function Waiting({ groups, note, failure }: WaitingProps) {
  return (
    <TableSection
      title="Queues"
      note={note}
      none="No process has made the streams yet."
      failure={failure}
      rows={groups}
      keyOf={({ stream, group, lane }) => `${stream} ${group} ${lane}`}
      columns={[
        { key: 'group', label: 'For', render: ({ group }) => group },
        { key: 'stream', label: 'Stream', render: ({ stream }) => stream },
        { key: 'lane', label: 'Lane', inCard: 'plain', render: ({ lane }) => lane },
        { ...figure('lag', 'Not delivered'), render: ({ lag_entries: lag }) => number(lag) },
        { ...figure('pending', 'Pending'), render: ({ pending_entries: pending }) => number(pending) },
        { ...figure('events', 'Events'), render: ({ events }) => number(events) },
        { ...figure('oldest', 'Oldest'), render: ({ oldest_ms: oldestMs }) => duration(oldestMs) },
      ]}
    />
  )
}

/** Unfinished jobs: their number, and the oldest ones. */
export function Jobs({ batch, bulk, failure }: { readonly batch: SystemJobs; readonly bulk: SystemJobs } & MayFail) {
  const kinds = [
    { kind: 'Uploads', ...batch },
    { kind: 'Bulk lookups', ...bulk },
  ]
  const open = kinds.flatMap(({ kind, oldest_jobs: jobs }) => jobs.map((job) => ({ kind, ...job })))
  return (
    <>
      <TableSection
        title="Jobs"
        none=""
        failure={failure}
        rows={kinds}
        keyOf={({ kind }) => kind}
        columns={[
          { key: 'kind', label: 'Kind', render: ({ kind }) => kind },
          { ...figure('uploading', 'Arriving'), render: ({ uploading }) => number(uploading) },
          { ...figure('queued', 'Queued'), render: ({ queued }) => number(queued) },
          { ...figure('running', 'Running'), render: ({ running }) => number(running) },
          { ...figure('lines', 'Lines'), render: ({ lines }) => number(lines) },
          { ...figure('waiting', 'Not yet taken'), render: ({ lines_waiting: waiting }) => number(waiting) },
          { ...figure('oldest', 'Oldest'), render: ({ oldest_ms: oldestMs }) => duration(oldestMs) },
        ]}
      />
      {open.length > 0 && (
        <TableSection
          title="Oldest open jobs"
          none=""
          rows={open}
          keyOf={({ job_id: id }) => id}
          columns={[
            { key: 'job', label: 'Job', render: ({ job_id: id }) => <code>{id}</code> },
            { key: 'kind', label: 'Kind', inCard: 'plain', render: ({ kind }) => kind },
            { key: 'tenant', label: 'Tenant', render: ({ tenant_id: tenant }) => tenant },
            { key: 'status', label: 'Status', render: ({ status }) => status },
            { ...figure('lines', 'Lines'), render: ({ lines }) => number(lines) },
            { ...figure('waiting', 'Not yet taken'), render: ({ lines_waiting: waiting }) => number(waiting) },
            { ...figure('age', 'Age'), render: ({ age_ms: ageMs }) => duration(ageMs) },
          ]}
        />
      )}
    </>
  )
}

/** Exports that fail, or are late. */
export function Exports({ exports, failure }: { readonly exports: SystemAnswer['exports'] } & MayFail) {
  return (
    <TableSection
      title="Exports without a file"
      none=""
      note={`${number(exports.failed)} failed and ${number(exports.late)} late, of ${number(exports.count)}.`}
      failure={failure}
      rows={exports.worst}
      keyOf={({ tenant_id: tenant, name }) => `${tenant} ${name}`}
      columns={[
        {
          key: 'export',
          label: 'Export',
          render: ({ tenant_id: tenant, name }) => <Link href={`/t/${tenant}/exports`}>{name}</Link>,
        },
        { key: 'tenant', label: 'Tenant', render: ({ tenant_id: tenant }) => tenant },
        {
          key: 'since',
          label: 'Missing since',
          render: ({ open_since: since }) => (since === null ? '–' : <Time at={since} />),
        },
        { ...figure('failures', 'Failed attempts'), render: ({ failures }) => number(failures) },
        {
          key: 'error',
          label: 'Reason',
          text: 'wrap',
          inCard: 'whole',
          render: ({ error }) => error ?? 'late: is a process with the role sink running?',
        },
      ]}
    />
  )
}

/** The last scheduled backup, and the next. */
export function Backups({ backup, failure }: { readonly backup: SystemAnswer['backup'] } & MayFail) {
  return (
    <TableSection
      title="Backups"
      none=""
      note={backup !== null && `In ${backup.place}, every ${backup.every} at ${backup.at} UTC.`}
      failure={failure}
      rows={backup === null ? [] : [backup]}
      keyOf={({ place }) => place}
      columns={[
        {
          key: 'last',
          label: 'Last complete one',
          render: ({ last }) => (last === null ? 'none yet' : <Time at={last.at} />),
        },
        { ...figure('bytes', 'Size'), render: ({ last }) => (last === null ? '–' : bytes(last.bytes)) },
        { ...figure('took', 'Took'), render: ({ last }) => (last === null ? '–' : duration(last.took_ms)) },
        {
          key: 'missing',
          label: 'Missing since',
          render: ({ missing_since: since }) => (since === null ? '–' : <Time at={since} />),
        },
        { key: 'next', label: 'Next', render: ({ next_at: next }) => <Time at={next} /> },
        { ...figure('failures', 'Failed attempts'), render: ({ failures }) => number(failures) },
        {
          key: 'name',
          label: 'Name, or reason',
          text: 'wrap',
          inCard: 'whole',
          render: ({ error, last }) => error ?? <code>{last?.name ?? '–'}</code>,
        },
      ]}
    />
  )
}

/** Closed days that are not summed up. */
export function Days({ days }: { readonly days: NonNullable<SystemAnswer['days']> }) {
  return (
    <TableSection
      title="Closed days"
      none=""
      note="ipid stores sums of days that are over. Until then pages read the events of these days, which takes longer."
      rows={[days]}
      keyOf={() => 'days'}
      columns={[
        { ...figure('stale', 'Not summed up'), render: ({ stale }) => (stale === null ? '–' : number(stale)) },
        {
          key: 'since',
          label: 'Oldest since',
          render: ({ oldest_since: since }) => (since === null ? '–' : <Time at={since} />),
        },
        {
          key: 'reason',
          label: 'Waiting for',
          text: 'wrap',
          inCard: 'whole',
          render: ({ waits, failure }) =>
            waits
              ? (failure ?? 'a change of all stored events in ClickHouse')
              : 'the builder, which sums up the newest first',
        },
      ]}
    />
  )
}

type SentinelFacts = NonNullable<NonNullable<SystemAnswer['redis']>['sentinel']>

/** The Redis server in use, and its replicas. */
export function Sentinel({ sentinel }: { readonly sentinel: SentinelFacts }) {
  return (
    <TableSection
      title="Redis with Sentinel"
      none=""
      rows={[sentinel]}
      keyOf={({ master }) => master}
      columns={[
        { key: 'master', label: 'Master in use', render: ({ master }) => <code>{master}</code> },
        { ...figure('replicas', 'Replicas connected'), render: ({ replicas }) => number(replicas) },
        {
          ...figure('wait', 'Replicas that must have a write'),
          render: ({ wait_replicas: wait }) => number(wait),
        },
        {
          key: 'alone',
          label: 'Without a replica',
          render: ({ wait_replicas: wait, refuses_alone: refusesAlone }) =>
            wait > 0 || refusesAlone ? 'requests are refused' : 'requests are answered',
        },
      ]}
    />
  )
}

/** Inserts of the last minute. */
export function Inserts({ inserts, failure }: { readonly inserts: SystemAnswer['inserts'] } & MayFail) {
  return (
    <TableSection
      title="Inserts of the last minute"
      none="Nothing was inserted since the processes started."
      failure={failure}
      rows={inserts}
      keyOf={({ group }) => group}
      columns={[
        { key: 'group', label: 'By', render: ({ group }) => group },
        { ...figure('inserts', 'Inserts'), render: ({ inserts: count }) => number(count) },
        { ...figure('rows', 'Rows'), render: ({ rows }) => number(rows) },
        {
          ...figure('size', 'Rows per insert'),
          render: ({ inserts: count, rows }) => (count === 0 ? '–' : number(Math.round(rows / count))),
        },
        { ...figure('average', 'Time, average'), render: ({ avg_ms: avgMs }) => duration(avgMs) },
        { ...figure('longest', 'Time, longest'), render: ({ max_ms: maxMs }) => duration(maxMs) },
        { ...figure('failed', 'Failed'), render: ({ failures }) => number(failures) },
      ]}
    />
  )
}

const QUOTAS: Readonly<Record<string, string>> = {
  daily_lookups: 'lookups today (UTC)',
  monthly_accounts: 'tracked accounts this month (UTC)',
}

/** Tenants with the highest use of a quota. */
export function Quotas({ quotas, failure }: { readonly quotas: NonNullable<SystemAnswer['quotas']> } & MayFail) {
  return (
    <TableSection
      title="Nearest to their quotas"
      none="No tenant has used any quota."
      failure={failure}
      rows={quotas}
      keyOf={({ tenant_id: tenant, quota }) => `${tenant} ${quota}`}
      columns={[
        { key: 'tenant', label: 'Tenant', render: ({ tenant_id: tenant }) => tenant },
        { key: 'quota', label: 'Quota', inCard: 'plain', render: ({ quota }) => QUOTAS[quota] ?? quota },
        { ...figure('used', 'Used'), render: ({ used }) => number(used) },
        { ...figure('limit', 'Limit'), render: ({ limit }) => number(limit) },
        { ...figure('share', 'Share'), render: ({ used, limit }) => percent(limit === 0 ? 1 : used / limit) },
        {
          key: 'passed',
          label: 'Passed',
          render: ({ used, limit, passed_at: at }) => (at === null ? used < limit ? 'no' : 'yes' : <Time at={at} />),
        },
      ]}
    />
  )
}
