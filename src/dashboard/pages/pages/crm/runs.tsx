import { Link } from 'wouter-preact'
import type { CrmAnswer } from '../../../../../schemas/dashboard/crm.ts'
import { Soft } from '../../components/judgement.tsx'
import { Section } from '../../design/page.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { companyPath } from '../../lib/company-links.ts'
import { counted, number } from '../../lib/format.ts'

type Connection = NonNullable<CrmAnswer['connection']>

/** Syncs that have ended, newest first. */
export function RunTable({ runs }: Pick<Connection, 'runs'>) {
  const count = (name: 'created' | 'updated' | 'unchanged' | 'refused' | 'brought', label: string) => ({
    ...{ key: name, label, isNumber: true },
    render: (run: (typeof runs)[number]) => number(run[name]),
  })
  return (
    <Section title="Syncs" description="Companies of each sync, and what became of them.">
      <Table
        label="Syncs"
        rows={runs}
        keyOf={({ at }) => at}
        columns={[
          { key: 'at', label: 'Begun', render: ({ at }) => <Time at={at} /> },
          count('created', 'Created'),
          count('updated', 'Updated'),
          count('unchanged', 'Unchanged'),
          count('refused', 'Refused'),
          count('brought', 'Read back'),
          {
            key: 'result',
            label: 'Result',
            text: 'wrap',
            inCard: 'whole',
            render: ({ error, left_out: left }) =>
              error ?? (left === 0 ? <Soft>complete</Soft> : `${number(left)} more than ipid sends`),
          },
        ]}
      />
    </Section>
  )
}

interface RefusedTableProps extends Pick<Connection, 'refused'> {
  readonly tenant: string
  /** All refused ones of the sync. */
  readonly count: number
}

/** Companies that are not in HubSpot, and why. */
export function RefusedTable({ tenant, refused, count }: RefusedTableProps) {
  const more = count > refused.length ? ` The first ${refused.length} are shown.` : ''
  return (
    <Section
      title={`${counted(count, 'company', 'companies')} refused`}
      description={`Each sync tries them again.${more}`}
    >
      <Table
        label="Refused companies"
        rows={refused}
        keyOf={({ company_id: id }) => id}
        opensRows
        columns={[
          {
            key: 'company',
            label: 'Company',
            text: 'wrap',
            render: ({ company_id: id, name }) => <Link href={companyPath(tenant, id)}>{name}</Link>,
          },
          { key: 'domain', label: 'Domain', text: 'wrap', render: ({ domain }) => domain },
          { key: 'reason', label: 'Reason', text: 'wrap', inCard: 'whole', render: ({ reason }) => reason },
        ]}
      />
    </Section>
  )
}
