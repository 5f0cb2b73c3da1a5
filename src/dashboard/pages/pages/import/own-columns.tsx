import { useState } from 'preact/hooks'
import type { CorrectedAnswer, RemoveColumnBody } from '../../../../../schemas/dashboard/corrections.ts'
import { type CountedColumn, FACT_LIMITS } from '../../../../../schemas/facts.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Button } from '../../design/button.tsx'
import { Text } from '../../design/layout.tsx'
import { Problem } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { counted, number } from '../../lib/format.ts'
import type { useOwnColumns } from '../../lib/own-columns.ts'

interface OwnColumnsProps {
  readonly tenant: string
  readonly own: ReturnType<typeof useOwnColumns>
}

const TYPES = { text: 'Text', number: 'Number', date: 'Date' } as const

/** The columns of the tenant's own, with a button to remove each. */
export function OwnColumns({ tenant, own }: OwnColumnsProps) {
  const [leaving, setLeaving] = useState<CountedColumn>()
  const remove = async ({ key, name }: CountedColumn) => {
    const body: RemoveColumnBody = { key }
    const { change_id } = await post<CorrectedAnswer>(`/api/tenants/${tenant}/own-columns/remove`, body)
    setLeaving(undefined)
    own.reload()
    const undo = async () => {
      await post<CorrectedAnswer>(`/api/tenants/${tenant}/corrections/undo`, { change_id })
      own.reload()
    }
    toast({ text: `The column ${name} was removed.`, undo })
  }
  return (
    <Section title="Your columns" description={`Lists make them, ${FACT_LIMITS.columns} at most.`}>
      {own.error !== undefined && <Problem error={own.error} onRetry={own.reload} />}
      {own.value !== undefined && own.columns.length === 0 && <Text tone="soft">There are none yet.</Text>}
      {own.columns.length > 0 && (
        <Table
          label="Your columns"
          isNeverStacked
          rows={own.columns}
          keyOf={({ key }) => key}
          columns={[
            { key: 'name', label: 'Column', text: 'wrap', render: ({ name }) => name },
            { key: 'type', label: 'Type', render: ({ type }) => TYPES[type] },
            { key: 'companies', label: 'Companies', isNumber: true, render: ({ companies }) => number(companies) },
            {
              ...{ key: 'actions', label: 'Actions', isLabelHidden: true, isActions: true },
              render: (column) => (
                <Button
                  size="s"
                  variant="quiet"
                  aria-label={`Remove ${column.name}`}
                  onClick={() => setLeaving(column)}
                >
                  Remove
                </Button>
              ),
            },
          ]}
        />
      )}
      {leaving !== undefined && (
        <ConfirmDialog
          title={`Remove the column ${leaving.name}?`}
          confirm="Remove column"
          onConfirm={() => remove(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          <p>The values of {counted(leaving.companies, 'company', 'companies')} go with it. You can undo this.</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
