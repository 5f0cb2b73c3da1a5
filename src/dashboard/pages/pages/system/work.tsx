import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { SystemAnswer, SystemJobs } from '../../../../../schemas/dashboard/system.ts'
import { Time } from '../../design/time.tsx'
import { bytes, duration, number, percent } from '../../lib/format.ts'
import { TEXTS } from '../../texts/texts.ts'
import { type MayFail, TableSection } from './section.tsx'

const texts = TEXTS.system.work

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
      title={texts.queues}
      note={note}
      none={texts.noQueue}
      failure={failure}
      rows={groups}
      keyOf={({ stream, group, lane }) => `${stream} ${group} ${lane}`}
      columns={[
        { key: 'group', label: texts.for, render: ({ group }) => group },
        { key: 'stream', label: texts.stream, render: ({ stream }) => stream },
        { key: 'lane', label: texts.lane, inCard: 'plain', render: ({ lane }) => lane },
        { ...figure('lag', texts.lag), render: ({ lag_entries: lag }) => number(lag) },
        { ...figure('pending', texts.pending), render: ({ pending_entries: pending }) => number(pending) },
        { ...figure('events', TEXTS.words.fields.events), render: ({ events }) => number(events) },
        { ...figure('oldest', texts.oldest), render: ({ oldest_ms: oldestMs }) => duration(oldestMs) },
      ]}
    />
  )
}

/** Unfinished jobs: their number, and the oldest ones. */
export function Jobs({ batch, bulk, failure }: { readonly batch: SystemJobs; readonly bulk: SystemJobs } & MayFail) {
  const kinds = [
    { kind: texts.uploads, ...batch },
    { kind: texts.bulk, ...bulk },
  ]
  const open = kinds.flatMap(({ kind, oldest_jobs: jobs }) => jobs.map((job) => ({ kind, ...job })))
  return (
    <>
      <TableSection
        title={texts.jobs}
        none=""
        failure={failure}
        rows={kinds}
        keyOf={({ kind }) => kind}
        columns={[
          { key: 'kind', label: texts.kind, render: ({ kind }) => kind },
          { ...figure('uploading', texts.arriving), render: ({ uploading }) => number(uploading) },
          { ...figure('queued', texts.queued), render: ({ queued }) => number(queued) },
          { ...figure('running', texts.running), render: ({ running }) => number(running) },
          { ...figure('lines', texts.lines), render: ({ lines }) => number(lines) },
          { ...figure('waiting', texts.waiting), render: ({ lines_waiting: waiting }) => number(waiting) },
          { ...figure('oldest', texts.oldest), render: ({ oldest_ms: oldestMs }) => duration(oldestMs) },
        ]}
      />
      {open.length > 0 && (
        <TableSection
          title={texts.oldestJobs}
          none=""
          rows={open}
          keyOf={({ job_id: id }) => id}
          columns={[
            { key: 'job', label: texts.job, render: ({ job_id: id }) => <code>{id}</code> },
            { key: 'kind', label: texts.kind, inCard: 'plain', render: ({ kind }) => kind },
            { key: 'tenant', label: texts.tenant, render: ({ tenant_id: tenant }) => tenant },
            { key: 'status', label: TEXTS.words.fields.status, render: ({ status }) => status },
            { ...figure('lines', texts.lines), render: ({ lines }) => number(lines) },
            { ...figure('waiting', texts.waiting), render: ({ lines_waiting: waiting }) => number(waiting) },
            { ...figure('age', texts.age), render: ({ age_ms: ageMs }) => duration(ageMs) },
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
      title={texts.exports}
      none=""
      note={texts.exportsNote(number(exports.failed), number(exports.late), number(exports.count))}
      failure={failure}
      rows={exports.worst}
      keyOf={({ tenant_id: tenant, name }) => `${tenant} ${name}`}
      columns={[
        {
          key: 'export',
          label: texts.export,
          render: ({ tenant_id: tenant, name }) => <Link href={`/t/${tenant}/exports`}>{name}</Link>,
        },
        { key: 'tenant', label: texts.tenant, render: ({ tenant_id: tenant }) => tenant },
        {
          key: 'since',
          label: texts.missingSince,
          render: ({ open_since: since }) => (since === null ? '–' : <Time at={since} />),
        },
        { ...figure('failures', texts.failedAttempts), render: ({ failures }) => number(failures) },
        {
          key: 'error',
          label: texts.reason,
          text: 'wrap',
          inCard: 'whole',
          render: ({ error }) => error ?? texts.late,
        },
      ]}
    />
  )
}

/** The last scheduled backup, and the next. */
export function Backups({ backup, failure }: { readonly backup: SystemAnswer['backup'] } & MayFail) {
  return (
    <TableSection
      title={texts.backups}
      none=""
      note={backup !== null && texts.backupsNote(backup.place, backup.every, backup.at)}
      failure={failure}
      rows={backup === null ? [] : [backup]}
      keyOf={({ place }) => place}
      columns={[
        {
          key: 'last',
          label: texts.lastBackup,
          render: ({ last }) => (last === null ? texts.noBackup : <Time at={last.at} />),
        },
        { ...figure('bytes', texts.size), render: ({ last }) => (last === null ? '–' : bytes(last.bytes)) },
        { ...figure('took', texts.took), render: ({ last }) => (last === null ? '–' : duration(last.took_ms)) },
        {
          key: 'missing',
          label: texts.missingSince,
          render: ({ missing_since: since }) => (since === null ? '–' : <Time at={since} />),
        },
        { key: 'next', label: texts.next, render: ({ next_at: next }) => <Time at={next} /> },
        { ...figure('failures', texts.failedAttempts), render: ({ failures }) => number(failures) },
        {
          key: 'name',
          label: texts.nameOrReason,
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
      title={texts.days}
      none=""
      note={texts.aboutDays}
      rows={[days]}
      keyOf={() => 'days'}
      columns={[
        { ...figure('stale', texts.notSummed), render: ({ stale }) => (stale === null ? '–' : number(stale)) },
        {
          key: 'since',
          label: texts.oldestSince,
          render: ({ oldest_since: since }) => (since === null ? '–' : <Time at={since} />),
        },
        {
          key: 'reason',
          label: texts.waitingFor,
          text: 'wrap',
          inCard: 'whole',
          render: ({ waits, failure }) => (waits ? (failure ?? texts.change) : texts.builder),
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
      title={texts.sentinel}
      none=""
      rows={[sentinel]}
      keyOf={({ master }) => master}
      columns={[
        { key: 'master', label: texts.master, render: ({ master }) => <code>{master}</code> },
        { ...figure('replicas', texts.replicas), render: ({ replicas }) => number(replicas) },
        {
          ...figure('wait', texts.replicasNeeded),
          render: ({ wait_replicas: wait }) => number(wait),
        },
        {
          key: 'alone',
          label: texts.alone,
          render: ({ wait_replicas: wait, refuses_alone: refusesAlone }) =>
            wait > 0 || refusesAlone ? texts.refused : texts.answered,
        },
      ]}
    />
  )
}

/** Inserts of the last minute. */
export function Inserts({ inserts, failure }: { readonly inserts: SystemAnswer['inserts'] } & MayFail) {
  return (
    <TableSection
      title={texts.inserts}
      none={texts.noInsert}
      failure={failure}
      rows={inserts}
      keyOf={({ group }) => group}
      columns={[
        { key: 'group', label: texts.by, render: ({ group }) => group },
        { ...figure('inserts', texts.insertCount), render: ({ inserts: count }) => number(count) },
        { ...figure('rows', texts.rows), render: ({ rows }) => number(rows) },
        {
          ...figure('size', texts.rowsPerInsert),
          render: ({ inserts: count, rows }) => (count === 0 ? '–' : number(Math.round(rows / count))),
        },
        { ...figure('average', texts.average), render: ({ avg_ms: avgMs }) => duration(avgMs) },
        { ...figure('longest', texts.longest), render: ({ max_ms: maxMs }) => duration(maxMs) },
        { ...figure('failed', texts.failed), render: ({ failures }) => number(failures) },
      ]}
    />
  )
}

const QUOTAS: Readonly<Record<string, string>> = texts.quotas

/** Tenants with the highest use of a quota. */
export function Quotas({ quotas, failure }: { readonly quotas: NonNullable<SystemAnswer['quotas']> } & MayFail) {
  return (
    <TableSection
      title={texts.nearest}
      none={texts.noQuota}
      failure={failure}
      rows={quotas}
      keyOf={({ tenant_id: tenant, quota }) => `${tenant} ${quota}`}
      columns={[
        { key: 'tenant', label: texts.tenant, render: ({ tenant_id: tenant }) => tenant },
        { key: 'quota', label: texts.quota, inCard: 'plain', render: ({ quota }) => QUOTAS[quota] ?? quota },
        { ...figure('used', texts.used), render: ({ used }) => number(used) },
        { ...figure('limit', texts.limit), render: ({ limit }) => number(limit) },
        { ...figure('share', texts.share), render: ({ used, limit }) => percent(limit === 0 ? 1 : used / limit) },
        {
          key: 'passed',
          label: texts.passed,
          render: ({ used, limit, passed_at: at }) =>
            at === null ? used < limit ? texts.no : texts.yes : <Time at={at} />,
        },
      ]}
    />
  )
}
