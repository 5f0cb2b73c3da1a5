import { Share2 } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { ListedSharedLink, SharedLinksAnswer } from '../../../../schemas/dashboard/shared-links.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Soft } from '../components/judgement.tsx'
import { Button } from '../design/button.tsx'
import { Stack, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Section } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Table } from '../design/table.tsx'
import { Time } from '../design/time.tsx'
import { toast } from '../design/toast.tsx'
import { post } from '../lib/api.ts'
import { COLUMNS } from '../lib/company-view.ts'
import { useData } from '../lib/use-data.ts'

/** Links to lists and companies for people without an account: who made them, when they were used, and Revoke. */
export function SharedLinks({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/shared-links`
  const list = useData<SharedLinksAnswer>(path)
  const [revoked, setRevoked] = useState<ListedSharedLink>()
  const close = () => setRevoked(undefined)
  const revoke = async ({ id, name }: ListedSharedLink) => {
    await post(`${path}/revoke`, { id })
    toast({ text: `The link to ${name} does not work any more.` })
    close()
    list.reload()
  }
  const links = list.value?.links
  return (
    <Section
      title="Shared links"
      description="Lists and companies that people without an account can read. A link also ends when its maker is removed."
    >
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      {links === undefined && list.error === undefined && <Loading rows={3} rowHeight={44} />}
      {links?.length === 0 && (
        <EmptyState icon={Share2} title="Nothing is shared">
          <p>
            Choose <b>Share</b> on the list of <Link href={`/t/${tenant}/companies`}>companies</Link> or on the page of
            a company.
          </p>
        </EmptyState>
      )}
      {links !== undefined && links.length > 0 && <LinkTable links={links} onRevoke={setRevoked} />}
      {revoked !== undefined && (
        <ConfirmDialog
          title={`Revoke the link to ${revoked.name}?`}
          confirm="Revoke link"
          onConfirm={() => revoke(revoked)}
          onClose={close}
        >
          <Text>It stops working at once, for everybody who has it. This cannot be undone.</Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

interface LinkTableProps {
  readonly links: readonly ListedSharedLink[]
  readonly onRevoke: (link: ListedSharedLink) => void
}

function LinkTable({ links, onRevoke }: LinkTableProps) {
  return (
    <Table
      label="Shared links"
      rows={links}
      keyOf={({ id }) => id}
      columns={[
        {
          key: 'name',
          label: 'Title',
          text: 'wrap',
          render: (link) => (
            <Stack gap={1}>
              <Text as="span" isStrong>
                {link.name}
              </Text>
              <Text tone="soft" isSmall>
                {whatOf(link)}
              </Text>
            </Stack>
          ),
        },
        {
          key: 'columns',
          label: 'Shows',
          text: 'wrap',
          inCard: 'whole',
          render: ({ columns }) => ['Company', ...columns.map(labelOf)].join(', '),
        },
        { key: 'maker', label: 'Made by', text: 'wrap', render: ({ made_by: name }) => name },
        { key: 'created', label: 'Made', render: ({ created_at: at }) => <Time at={at} /> },
        {
          key: 'expires',
          label: 'Ends',
          render: ({ expires_at: at }) => (at === null ? <Soft>when revoked</Soft> : <Time at={at} />),
        },
        {
          key: 'used',
          label: 'Last opened',
          render: ({ last_used: at }) => (at === null ? <Soft>never</Soft> : <Time at={at} isAgo />),
        },
        {
          key: 'actions',
          label: 'Actions',
          isLabelHidden: true,
          isActions: true,
          render: (link) => (
            <Button size="s" aria-label={`Revoke the link to ${link.name}`} onClick={() => onRevoke(link)}>
              Revoke
            </Button>
          ),
        },
      ]}
    />
  )
}

function whatOf({ kind, of }: ListedSharedLink): string {
  if (kind === 'segment') return of === null ? 'Its segment was removed: it does not work' : `Segment ${of}`
  if (kind === 'company') return `Company ${of}`
  return of === '' ? 'All companies' : `Companies with ${of}`
}

function labelOf(column: ListedSharedLink['columns'][number]): string {
  return COLUMNS.find(({ key }) => key === column)!.label
}
