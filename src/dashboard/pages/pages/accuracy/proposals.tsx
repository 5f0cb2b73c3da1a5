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
import { number, percent } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.accuracy.proposals

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
    <Section title={texts.title} description={texts.about}>
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
              <p>{texts.none(<code>keep isp</code>)}</p>
            </Notice>
          ) : (
            <ProposalTable
              proposals={value.proposals}
              busy={busy}
              onAccept={(subject) =>
                act(subject, { add: { kind: 'is', subject } }, texts.accepted(subject), { remove: KIND + subject })
              }
            />
          )}
          <FieldError error={changing.error} />
          {value.rules.length > 0 && (
            <RuleList
              rules={value.rules}
              busy={busy}
              onUndo={(rule) =>
                act(rule, { remove: rule }, texts.undone(rule.slice(KIND.length)), {
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
      label={texts.proposals}
      rows={proposals}
      keyOf={({ id }) => String(id)}
      columns={[
        { key: 'network', label: texts.network, render: ({ network }) => <code>{network}</code> },
        {
          key: 'company',
          label: TEXTS.words.fields.company,
          inCard: 'plain',
          render: ({ domain }) => <strong>{domain}</strong>,
        },
        { key: 'now', label: texts.now, render: ({ now }) => <Soft>{now ?? texts.noCompany}</Soft> },
        {
          key: 'people',
          label: texts.people,
          isNumber: true,
          inCard: 'plain',
          render: ({ people, share }) => texts.peopleShare(people, percent(share)),
        },
        {
          key: 'days',
          label: texts.days,
          isNumber: true,
          inCard: 'plain',
          render: ({ days }) => texts.daysCount(days),
        },
        {
          key: 'events',
          label: texts.signUps,
          isNumber: true,
          render: ({ events }) => number(events),
        },
        {
          key: 'accept',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: ({ subject }) => (
            <Button
              size="s"
              aria-label={texts.acceptOf(subject)}
              disabled={busy !== undefined}
              onClick={() => onAccept(subject)}
            >
              {texts.accept}
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
        label={texts.acceptedLabel}
        rows={rules}
        keyOf={(rule) => rule}
        columns={[
          { key: 'rule', label: texts.acceptedLabel, render: (rule) => <code>{rule.slice(KIND.length)}</code> },
          {
            key: 'undo',
            label: TEXTS.words.fields.actions,
            isLabelHidden: true,
            isActions: true,
            render: (rule) => (
              <Button
                size="s"
                aria-label={texts.undoOf(rule.slice(KIND.length))}
                disabled={busy !== undefined}
                onClick={() => onUndo(rule)}
              >
                {texts.undo}
              </Button>
            ),
          },
        ]}
      />
      <Text tone="soft" isSmall>
        {texts.stored(<code>./ipid replay --reenrich</code>)}
      </Text>
    </Stack>
  )
}
