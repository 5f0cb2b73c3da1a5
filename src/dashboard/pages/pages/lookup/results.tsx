import { useState } from 'preact/hooks'
import type { ExplainedAddress, PageLookupAnswer } from '../../../../../schemas/dashboard/lookup.ts'
import { ClassName, Soft } from '../../components/judgement.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Country } from '../../design/flag.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Table } from '../../design/table.tsx'
import { counted, number } from '../../lib/format.ts'
import { Explanation } from './explanation.tsx'

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
            label: 'Class',
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
