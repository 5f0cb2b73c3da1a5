import type { SystemAnswer } from '../../../../../schemas/dashboard/system.ts'
import { Badge } from '../../design/badge.tsx'
import { Time } from '../../design/time.tsx'
import { number } from '../../lib/format.ts'
import { type MayFail, TableSection } from './section.tsx'

/** Warnings and errors of the logs, newest first. */
export function Problems({ errors, failure }: { readonly errors: SystemAnswer['errors'] } & MayFail) {
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
export function Processes({ processes, failure }: { readonly processes: SystemAnswer['processes'] } & MayFail) {
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
