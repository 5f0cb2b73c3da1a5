import { useState } from 'preact/hooks'
import { DOUBTFUL } from '../../../../../schemas/classification.ts'
import type { ExplainedAddress, PageLookupAnswer } from '../../../../../schemas/dashboard/lookup.ts'
import { ClassName, Soft } from '../../components/judgement.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Facts } from '../../design/details.tsx'
import { Country } from '../../design/flag.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { Card, Section } from '../../design/page.tsx'
import { Table } from '../../design/table.tsx'
import { counted, number } from '../../lib/format.ts'
import { wordNote } from '../../lib/word-note.ts'

/** Rows to draw at first, because a thousand take seconds on a slow machine. */
const ROWS_AT_FIRST = 100

/** A row for each address. It expands to the sources of its values. */
export function Results({ answer, tenant }: { readonly answer: PageLookupAnswer; readonly tenant: string }) {
  const { results, skipped, skipped_count, asked, attributions } = answer
  const [isWhole, setWhole] = useState(false)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(results.length === 1 ? [results[0]!.ip] : []))
  const shown = isWhole ? results : results.slice(0, ROWS_AT_FIRST)
  const kept = results.filter(({ status }) => status === 'ok').length
  const toggle = (ip: string) => {
    const next = new Set(open)
    if (!next.delete(ip)) next.add(ip)
    setOpen(next)
  }
  return (
    <Section
      title={
        <span role="status">
          {counted(results.length, 'address', 'addresses')}: events of {number(kept)} would be kept,{' '}
          {number(results.length - kept)} filtered
        </span>
      }
      description={`As the rules of ${tenant} judge them.`}
    >
      {skipped_count > 0 && (
        <Notice tone="warn">
          <p>
            {number(skipped_count)} {skipped_count === 1 ? 'word is not an address' : 'words are not addresses'}:{' '}
            <code>{skipped.join(' ')}</code>
            {skipped_count > skipped.length && ' …'}
          </p>
        </Notice>
      )}
      <Table
        label="Results"
        rows={shown}
        keyOf={({ ip }) => ip}
        detailOf={(result) => open.has(result.ip) && <Explanation result={result} asked={asked} />}
        columns={[
          { key: 'address', label: 'Address', render: ({ ip }) => <code>{ip}</code> },
          {
            key: 'organisation',
            label: 'Organisation',
            inCard: 'whole',
            text: 320,
            render: (result) => firstOf(result, 'business_name', 'org_name', 'as_name') ?? <Soft>not known</Soft>,
          },
          {
            key: 'class',
            label: 'Type',
            inCard: 'plain',
            render: ({ classification }) => <ClassName classification={classification} />,
          },
          {
            key: 'country',
            label: 'Country',
            inCard: 'plain',
            render: (result) => <Country code={firstOf(result, 'country_code') ?? ''} />,
          },
          {
            key: 'events',
            label: 'Events',
            inCard: 'plain',
            render: ({ status, tenant_rule: rule }) => (
              <Row gap={2}>
                <Badge tone={status === 'ok' ? 'good' : 'neutral'}>{status === 'ok' ? 'kept' : 'filtered'}</Badge>
                {rule !== null && <Soft>by a rule</Soft>}
              </Row>
            ),
          },
          { key: 'quality', label: 'Quality', isNumber: true, render: ({ quality }) => quality },
          {
            key: 'why',
            label: 'Explanation',
            isLabelHidden: true,
            isActions: true,
            render: ({ ip }) => (
              <Button
                size="s"
                aria-expanded={open.has(ip)}
                aria-label={`${open.has(ip) ? 'Hide' : 'Why?'} ${ip}`}
                onClick={() => toggle(ip)}
              >
                {open.has(ip) ? 'Hide' : 'Why?'}
              </Button>
            ),
          },
        ]}
      />
      {shown.length < results.length && (
        <Row>
          <Button onClick={() => setWhole(true)}>Show the other {number(results.length - shown.length)}</Button>
        </Row>
      )}
      {attributions.length > 0 && (
        <Stack gap={1}>
          {attributions.map(({ provider, text }) => (
            <Text key={provider} tone="soft" isSmall>
              {provider}: {text}
            </Text>
          ))}
        </Stack>
      )}
    </Section>
  )
}

function firstOf(result: ExplainedAddress, ...names: readonly string[]): string | undefined {
  for (const wanted of names) {
    const found = result.attributes.find(({ name }) => name === wanted)
    if (found !== undefined) return String(found.value)
  }
  return undefined
}

interface ExplanationProps {
  readonly result: ExplainedAddress
  readonly asked: readonly string[]
}

/** Sources of an address's values and the deciding rule, as in `ipid enrich --explain`. */
function Explanation({ result, asked }: ExplanationProps) {
  const { ip, attributes, rule, tenant_rule, company_id, quality, answered, partial, classification } = result
  const isDoubtful = rule.startsWith(DOUBTFUL)
  return (
    <Card isTight>
      <Stack>
        <Facts
          facts={[
            ['Rule of the workspace', tenant_rule === null ? 'none decides' : <code>{tenant_rule}</code>],
            ['Rule of the type', <code key="rule">{rule}</code>],
            ['Counts for the account', company_id ?? (isDoubtful ? 'none: the name is doubtful' : 'none')],
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
