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
import { wordNote } from '../../lib/word-note.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.lookup.results

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
      title={<span role="status">{texts.summary(results.length, kept)}</span>}
      description={texts.judged(tenant)}
    >
      {skipped_count > 0 && (
        <Notice tone="warn">
          <p>
            {texts.notAddresses(skipped_count, <code>{skipped.join(' ')}</code>)}
            {skipped_count > skipped.length && ' …'}
          </p>
        </Notice>
      )}
      <Table
        label={texts.label}
        rows={shown}
        keyOf={({ ip }) => ip}
        detailOf={(result) => open.has(result.ip) && <Explanation result={result} asked={asked} />}
        columns={[
          { key: 'address', label: texts.address, render: ({ ip }) => <code>{ip}</code> },
          {
            key: 'organisation',
            label: texts.organisation,
            inCard: 'whole',
            text: 320,
            render: (result) =>
              firstOf(result, 'business_name', 'org_name', 'as_name') ?? <Soft>{texts.notKnown}</Soft>,
          },
          {
            key: 'class',
            label: TEXTS.words.fields.type,
            inCard: 'plain',
            render: ({ classification }) => <ClassName classification={classification} />,
          },
          {
            key: 'country',
            label: TEXTS.words.fields.country,
            inCard: 'plain',
            render: (result) => <Country code={firstOf(result, 'country_code') ?? ''} />,
          },
          {
            key: 'events',
            label: TEXTS.words.fields.events,
            inCard: 'plain',
            render: ({ status, tenant_rule: rule }) => (
              <Row gap={2}>
                <Badge tone={status === 'ok' ? 'good' : 'neutral'}>
                  {status === 'ok' ? texts.kept : texts.filtered}
                </Badge>
                {rule !== null && <Soft>{texts.byRule}</Soft>}
              </Row>
            ),
          },
          { key: 'quality', label: TEXTS.words.fields.quality, isNumber: true, render: ({ quality }) => quality },
          {
            key: 'why',
            label: texts.explanation,
            isLabelHidden: true,
            isActions: true,
            render: ({ ip }) => (
              <Button
                size="s"
                aria-expanded={open.has(ip)}
                aria-label={(open.has(ip) ? texts.hideOf : texts.whyOf)(ip)}
                onClick={() => toggle(ip)}
              >
                {open.has(ip) ? texts.hide : texts.why}
              </Button>
            ),
          },
        ]}
      />
      {shown.length < results.length && (
        <Row>
          <Button onClick={() => setWhole(true)}>{texts.showOthers(results.length - shown.length)}</Button>
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
            [texts.rule, tenant_rule === null ? texts.noRule : <code>{tenant_rule}</code>],
            [texts.typeRule, <code key="rule">{rule}</code>],
            [texts.countsFor, company_id ?? (isDoubtful ? texts.doubtful : texts.none)],
            [TEXTS.words.fields.quality, texts.ofHundred(quality)],
            [texts.asked, classification === 'reserved' ? texts.noneReserved : asked.join(', ') || texts.none],
            [texts.answered, answered.join(', ') || texts.none],
            partial.length > 0 && [texts.tooSlow, partial.join(', ')],
          ]}
        />
        {attributes.length > 0 && (
          <Table
            label={texts.valuesOf(ip)}
            rows={attributes}
            keyOf={({ name }) => name}
            columns={[
              { key: 'name', label: texts.attribute, render: ({ name }) => name },
              { key: 'value', label: texts.value, text: 'wrap', inCard: 'plain', render: ({ value }) => String(value) },
              { key: 'provider', label: texts.provider, render: ({ provider }) => provider || '–' },
              {
                key: 'network',
                label: texts.networkOrRule,
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
