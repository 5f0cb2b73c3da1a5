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
import { number } from '../../lib/format.ts'
import type { useOwnColumns } from '../../lib/own-columns.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.importList.own

interface OwnColumnsProps {
  readonly tenant: string
  readonly own: ReturnType<typeof useOwnColumns>
}

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
    toast({ text: texts.removed(name), undo })
  }
  return (
    <Section title={texts.title} description={texts.about(FACT_LIMITS.columns)}>
      {own.error !== undefined && <Problem error={own.error} onRetry={own.reload} />}
      {own.value !== undefined && own.columns.length === 0 && <Text tone="soft">{texts.none}</Text>}
      {own.columns.length > 0 && (
        <Table
          label={texts.title}
          rows={own.columns}
          keyOf={({ key }) => key}
          columns={[
            { key: 'name', label: texts.column, text: 'wrap', render: ({ name }) => name },
            { key: 'type', label: TEXTS.words.fields.type, render: ({ type }) => texts.types[type] },
            {
              key: 'companies',
              label: TEXTS.words.fields.companies,
              isNumber: true,
              render: ({ companies }) => number(companies),
            },
            {
              ...{ key: 'actions', label: TEXTS.words.fields.actions, isLabelHidden: true, isActions: true },
              render: (column) => (
                <Button
                  size="s"
                  variant="quiet"
                  aria-label={texts.removeOf(column.name)}
                  onClick={() => setLeaving(column)}
                >
                  {TEXTS.words.buttons.remove}
                </Button>
              ),
            },
          ]}
        />
      )}
      {leaving !== undefined && (
        <ConfirmDialog
          title={texts.removeTitle(leaving.name)}
          confirm={texts.remove}
          onConfirm={() => remove(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          <p>{texts.valuesGo(leaving.companies)}</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
