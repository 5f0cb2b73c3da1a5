import { Link } from 'wouter-preact'
import type { CrmAnswer } from '../../../../../schemas/dashboard/crm.ts'
import { Soft } from '../../components/judgement.tsx'
import { Section } from '../../design/page.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { companyPath } from '../../lib/company-links.ts'
import { number } from '../../lib/format.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.crm.runs

type Connection = NonNullable<CrmAnswer['connection']>

/** Syncs that have ended, newest first. */
export function RunTable({ runs }: Pick<Connection, 'runs'>) {
  const count = (name: 'created' | 'updated' | 'unchanged' | 'refused' | 'brought', label: string) => ({
    ...{ key: name, label, isNumber: true },
    render: (run: (typeof runs)[number]) => number(run[name]),
  })
  return (
    <Section title={texts.title} description={texts.about}>
      <Table
        label={texts.title}
        rows={runs}
        keyOf={({ at }) => at}
        columns={[
          { key: 'at', label: texts.begun, render: ({ at }) => <Time at={at} /> },
          count('created', texts.created),
          count('updated', texts.updated),
          count('unchanged', texts.unchanged),
          count('refused', texts.refused),
          count('brought', texts.brought),
          {
            key: 'result',
            label: texts.result,
            text: 'wrap',
            inCard: 'whole',
            render: ({ error, left_out: left }) =>
              error ?? (left === 0 ? <Soft>{texts.complete}</Soft> : texts.leftOut(number(left))),
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
  return (
    <Section
      title={texts.refusedCount(count)}
      description={count > refused.length ? texts.tryAgainShown(refused.length) : texts.tryAgain}
    >
      <Table
        label={texts.refusedCompanies}
        rows={refused}
        keyOf={({ company_id: id }) => id}
        opensRows
        columns={[
          {
            key: 'company',
            label: TEXTS.words.fields.company,
            text: 'wrap',
            render: ({ company_id: id, name }) => <Link href={companyPath(tenant, id)}>{name}</Link>,
          },
          { key: 'domain', label: TEXTS.words.fields.domain, text: 'wrap', render: ({ domain }) => domain },
          { key: 'reason', label: texts.reason, text: 'wrap', inCard: 'whole', render: ({ reason }) => reason },
        ]}
      />
    </Section>
  )
}
