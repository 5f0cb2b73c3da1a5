import type { SystemAnswer, SystemJobs } from '../../../../../schemas/dashboard/system.ts'
import { Time } from '../../components/time.tsx'
import { duration } from '../../lib/durations.ts'
import { number, percent } from '../../lib/format.ts'
import { type MayFail, TableSection } from './section.tsx'

/** Queues by consumer group and lane. */
export function Waiting({ groups, failure }: { readonly groups: SystemAnswer['waiting'] } & MayFail) {
  return (
    <TableSection
      title="Queues"
      columns={['For', 'Stream', 'Lane', 'Not delivered#', 'Pending#', 'Events#', 'Oldest#']}
      none="No process has made the streams yet."
      failure={failure}
    >
      {groups.map(
        ({ stream, group, lane, lag_entries: lag, pending_entries: pending, events, oldest_ms: oldestMs }) => (
          <tr key={`${stream} ${group} ${lane}`}>
            <td>{group}</td>
            <td>{stream}</td>
            <td>{lane}</td>
            <td class="number">{number(lag)}</td>
            <td class="number">{number(pending)}</td>
            <td class="number">{number(events)}</td>
            <td class="number">{duration(oldestMs)}</td>
          </tr>
        ),
      )}
    </TableSection>
  )
}

/** Unfinished jobs: their number, and the oldest ones. */
export function Jobs({ batch, bulk, failure }: { readonly batch: SystemJobs; readonly bulk: SystemJobs } & MayFail) {
  const kinds = [
    ['Uploads', batch],
    ['Bulk lookups', bulk],
  ] as const
  const open = kinds.flatMap(([kind, { oldest_jobs: jobs }]) => jobs.map((job) => ({ kind, ...job })))
  return (
    <>
      <TableSection
        title="Jobs"
        columns={['Kind', 'Arriving#', 'Queued#', 'Running#', 'Lines#', 'Not yet taken#', 'Oldest#']}
        none=""
        failure={failure}
      >
        {kinds.map(([kind, jobs]) => (
          <tr key={kind}>
            <td>{kind}</td>
            <td class="number">{number(jobs.uploading)}</td>
            <td class="number">{number(jobs.queued)}</td>
            <td class="number">{number(jobs.running)}</td>
            <td class="number">{number(jobs.lines)}</td>
            <td class="number">{number(jobs.lines_waiting)}</td>
            <td class="number">{duration(jobs.oldest_ms)}</td>
          </tr>
        ))}
      </TableSection>
      {open.length > 0 && (
        <TableSection
          title="Oldest open jobs"
          columns={['Kind', 'Tenant', 'Job', 'Status', 'Lines#', 'Not yet taken#', 'Age#']}
          none=""
        >
          {open.map((job) => (
            <tr key={job.job_id}>
              <td>{job.kind}</td>
              <td>{job.tenant_id}</td>
              <td>
                <code>{job.job_id}</code>
              </td>
              <td>{job.status}</td>
              <td class="number">{number(job.lines)}</td>
              <td class="number">{number(job.lines_waiting)}</td>
              <td class="number">{duration(job.age_ms)}</td>
            </tr>
          ))}
        </TableSection>
      )}
    </>
  )
}

/** Inserts of the last minute. */
export function Inserts({ inserts, failure }: { readonly inserts: SystemAnswer['inserts'] } & MayFail) {
  return (
    <TableSection
      title="Inserts of the last minute"
      columns={['By', 'Inserts#', 'Rows#', 'Rows an insert#', 'Average#', 'Longest#', 'Failed#']}
      none="Nothing was inserted since the processes started."
      failure={failure}
    >
      {inserts.map(({ group, inserts: count, rows, avg_ms: avgMs, max_ms: maxMs, failures }) => (
        <tr key={group}>
          <td>{group}</td>
          <td class="number">{number(count)}</td>
          <td class="number">{number(rows)}</td>
          <td class="number">{number(count === 0 ? 0 : Math.round(rows / count))}</td>
          <td class="number">{duration(avgMs)}</td>
          <td class="number">{duration(maxMs)}</td>
          <td class="number">{number(failures)}</td>
        </tr>
      ))}
    </TableSection>
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
      columns={['Tenant', 'Quota', 'Used#', 'Limit#', 'Share#', 'Passed']}
      none="No tenant has used any quota."
      failure={failure}
    >
      {quotas.map(({ tenant_id: tenant, quota, used, limit, passed_at: passedAt }) => (
        <tr key={`${tenant} ${quota}`}>
          <td>{tenant}</td>
          <td>{QUOTAS[quota] ?? quota}</td>
          <td class="number">{number(used)}</td>
          <td class="number">{number(limit)}</td>
          <td class="number">{percent(limit === 0 ? 1 : used / limit)}</td>
          <td>{passedAt === null ? used < limit ? 'no' : 'yes' : <Time at={passedAt} />}</td>
        </tr>
      ))}
    </TableSection>
  )
}
