import type { ExplainedAddress } from '../../../../../schemas/dashboard/lookup.ts'
import { Facts } from '../../design/details.tsx'
import { Stack } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { Table } from '../../design/table.tsx'
import { wordNote } from '../../lib/word-note.ts'

interface ExplanationProps {
  readonly result: ExplainedAddress
  readonly asked: readonly string[]
}

/** Sources of an address's values and the deciding rule, as in `ipid enrich --explain`. */
export function Explanation({ result, asked }: ExplanationProps) {
  const { ip, attributes, rule, tenant_rule, company_id, quality, answered, partial, classification } = result
  return (
    <Card isTight>
      <Stack>
        <Facts
          facts={[
            ['Rule of the tenant', tenant_rule === null ? 'none decides' : <code>{tenant_rule}</code>],
            ['Rule of the class', <code key="rule">{rule}</code>],
            ['Counts for the account', company_id ?? 'none'],
            ['Quality', `${quality} of 100`],
            ['Asked', classification === 'reserved' ? 'none: it is a reserved address' : asked.join(', ') || 'none'],
            ['Answered', answered.join(', ') || 'none'],
            partial.length > 0 && ['Too slow to answer', partial.join(', ')],
          ]}
        />
        {attributes.length > 0 && (
          <Table
            label={`Values of ${ip}`}
            rows={attributes}
            keyOf={({ name }) => name}
            columns={[
              { key: 'name', label: 'Attribute', render: ({ name }) => name },
              { key: 'value', label: 'Value', text: 'wrap', inCard: 'plain', render: ({ value }) => String(value) },
              { key: 'provider', label: 'Provider', render: ({ provider }) => provider || '–' },
              {
                key: 'network',
                label: 'Network or rule',
                text: 'wrap',
                render: ({ name, network, word, precision }) =>
                  word === null ? <code>{name === 'classification' ? rule : network}</code> : wordNote(word, precision),
              },
            ]}
          />
        )}
      </Stack>
    </Card>
  )
}
