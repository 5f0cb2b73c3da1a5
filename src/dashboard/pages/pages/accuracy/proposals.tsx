import { useState } from 'preact/hooks'
import type { ProposalsAnswer } from '../../../../../schemas/dashboard/accuracy.ts'
import type { RulesAnswer, RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { Soft } from '../../components/judgement.tsx'
import { Button } from '../../design/button.tsx'
import { FieldError } from '../../design/field.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { Notice, Problem } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { counted, number, percent } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'

const KIND = 'is '

/** Networks that keep meeting one domain, and the rules that were made of them. */
export function Proposals({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/rules`
  const { value, error, reload } = useData<ProposalsAnswer>(`/api/tenants/${tenant}/accuracy/proposals`)
  const changing = useAction()
  const [busy, setBusy] = useState<string>()
  const change = async (body: RulesBody) => {
    await post<RulesAnswer>(path, body)
    reload()
  }
  const act = (subject: string, body: RulesBody, done: string, undo: RulesBody) =>
    changing.run(async () => {
      setBusy(subject)
      try {
        await change(body)
        toast({ text: done, undo: () => change(undo) })
      } finally {
        setBusy(undefined)
      }
    })
  return (
    <Section
      title="Networks that keep meeting one company"
      description="At least 3 people with mail of one domain were met there, on 3 days, and hardly anybody else. A network of more than one address needs them in each of its halves. Accept one, and its visits belong to that company from then on."
    >
      {value === undefined ? (
        error === undefined ? (
          <Loading rows={3} />
        ) : (
          <Problem error={error} onRetry={reload} />
        )
      ) : (
        <>
          {value.proposals.length === 0 ? (
            <Notice>
              <p>
                No proposal now. Visits from access providers are not stored; the rule <code>keep isp</code> stores
                them, so that their business customers are found.
              </p>
            </Notice>
          ) : (
            <ProposalTable
              proposals={value.proposals}
              busy={busy}
              onAccept={(subject) =>
                act(subject, { add: { kind: 'is', subject } }, `${subject} is accepted.`, { remove: KIND + subject })
              }
            />
          )}
          <FieldError error={changing.error} />
          {value.rules.length > 0 && (
            <RuleList
              rules={value.rules}
              busy={busy}
              onUndo={(rule) =>
                act(rule, { remove: rule }, `${rule.slice(KIND.length)} is undone.`, {
                  add: { kind: 'is', subject: rule.slice(KIND.length) },
                })
              }
            />
          )}
        </>
      )}
    </Section>
  )
}

interface ProposalTableProps {
  readonly proposals: ProposalsAnswer['proposals']
  readonly busy: string | undefined
  readonly onAccept: (subject: string) => void
}

function ProposalTable({ proposals, busy, onAccept }: ProposalTableProps) {
  return (
    <Table
      label="Proposals"
      rows={proposals}
      keyOf={({ id }) => String(id)}
      columns={[
        { key: 'network', label: 'Network', render: ({ network }) => <code>{network}</code> },
        { key: 'company', label: 'Company', inCard: 'plain', render: ({ domain }) => <strong>{domain}</strong> },
        { key: 'now', label: 'Now', render: ({ now }) => <Soft>{now ?? 'no company'}</Soft> },
        {
          key: 'people',
          label: 'People',
          isNumber: true,
          inCard: 'plain',
          render: ({ people, share }) => `${counted(people, 'person', 'people')} (${percent(share)})`,
        },
        { key: 'days', label: 'Days', isNumber: true, inCard: 'plain', render: ({ days }) => counted(days, 'day') },
        {
          key: 'events',
          label: 'Sign-ups',
          isNumber: true,
          render: ({ events }) => number(events),
        },
        {
          key: 'accept',
          label: 'Actions',
          isLabelHidden: true,
          isActions: true,
          render: ({ subject }) => (
            <Button
              size="s"
              aria-label={`Accept ${subject}`}
              disabled={busy !== undefined}
              onClick={() => onAccept(subject)}
            >
              Accept
            </Button>
          ),
        },
      ]}
    />
  )
}

interface RuleListProps {
  readonly rules: readonly string[]
  readonly busy: string | undefined
  readonly onUndo: (rule: string) => void
}

function RuleList({ rules, busy, onUndo }: RuleListProps) {
  return (
    <Stack gap={2}>
      <Table
        label="Accepted"
        rows={rules}
        keyOf={(rule) => rule}
        columns={[
          { key: 'rule', label: 'Accepted', render: (rule) => <code>{rule.slice(KIND.length)}</code> },
          {
            key: 'undo',
            label: 'Actions',
            isLabelHidden: true,
            isActions: true,
            render: (rule) => (
              <Button
                size="s"
                aria-label={`Undo ${rule.slice(KIND.length)}`}
                disabled={busy !== undefined}
                onClick={() => onUndo(rule)}
              >
                Undo
              </Button>
            ),
          },
        ]}
      />
      <Text tone="soft" isSmall>
        Stored visits stay as they were until they are judged again: <code>./ipid replay --reenrich</code>.
      </Text>
    </Stack>
  )
}
