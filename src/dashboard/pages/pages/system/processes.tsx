import type { SystemAnswer } from '../../../../../schemas/dashboard/system.ts'
import { Time } from '../../components/time.tsx'
import { number } from '../../lib/format.ts'
import { type MayFail, TableSection } from './section.tsx'

/** Warnings and errors of the logs, newest first. */
export function Problems({ errors, failure }: { readonly errors: SystemAnswer['errors'] } & MayFail) {
  return (
    <TableSection
      title="Last warnings and errors"
      columns={['When', 'Level', 'Process', 'What', 'Times#']}
      none="No recent warnings or errors."
      failure={failure}
    >
      {errors.map(({ at, level, process, message, times }) => (
        <tr key={`${at} ${process} ${message}`}>
          <td>
            <Time at={at} isAgo />
          </td>
          <td>
            <span class={level === 'warn' ? 'tag warn' : 'tag bad'}>{level}</span>
          </td>
          <td>{process}</td>
          <td class="wrapping">{message}</td>
          <td class="number">{number(times)}</td>
        </tr>
      ))}
    </TableSection>
  )
}

/** Processes with a recent report. */
export function Processes({ processes, failure }: { readonly processes: SystemAnswer['processes'] } & MayFail) {
  return (
    <TableSection
      title="Processes"
      columns={['Roles', 'Machine', 'Process id#', 'Version', 'Runs since']}
      none="No process has reported in the last 20 seconds."
      failure={failure}
    >
      {processes.map(({ roles, host, pid, version, started_at: startedAt }) => (
        <tr key={`${host} ${pid}`}>
          <td>{roles.join(', ')}</td>
          <td>{host}</td>
          <td class="number">{pid}</td>
          <td>{version}</td>
          <td>
            <Time at={startedAt} />
          </td>
        </tr>
      ))}
    </TableSection>
  )
}
