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
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.sharedLinks.page

/** Links to lists and companies for people without an account: who made them, when they were used, and Revoke. */
export function SharedLinks({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/shared-links`
  const list = useData<SharedLinksAnswer>(path)
  const [revoked, setRevoked] = useState<ListedSharedLink>()
  const close = () => setRevoked(undefined)
  const revoke = async ({ id, name }: ListedSharedLink) => {
    await post(`${path}/revoke`, { id })
    toast({ text: texts.ended(name) })
    close()
    list.reload()
  }
  const links = list.value?.links
  return (
    <Section title={texts.title} description={texts.about}>
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      {links === undefined && list.error === undefined && <Loading rows={3} rowHeight={44} />}
      {links?.length === 0 && (
        <EmptyState icon={Share2} title={texts.none}>
          <p>
            {texts.choose(
              (text) => (
                <b>{text}</b>
              ),
              (text) => (
                <Link href={`/t/${tenant}/companies`}>{text}</Link>
              ),
            )}
          </p>
        </EmptyState>
      )}
      {links !== undefined && links.length > 0 && <LinkTable links={links} onRevoke={setRevoked} />}
      {revoked !== undefined && (
        <ConfirmDialog
          title={texts.revokeTitle(revoked.name)}
          confirm={texts.revoke}
          onConfirm={() => revoke(revoked)}
          onClose={close}
        >
          <Text>{texts.final}</Text>
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
      label={texts.title}
      rows={links}
      keyOf={({ id }) => id}
      columns={[
        {
          key: 'name',
          label: texts.name,
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
          label: texts.shows,
          text: 'wrap',
          inCard: 'whole',
          render: ({ columns }) => [TEXTS.words.fields.company, ...columns.map(labelOf)].join(', '),
        },
        { key: 'maker', label: texts.madeBy, text: 'wrap', render: ({ made_by: name }) => name },
        { key: 'created', label: texts.made, render: ({ created_at: at }) => <Time at={at} /> },
        {
          key: 'expires',
          label: texts.ends,
          render: ({ expires_at: at }) => (at === null ? <Soft>{texts.whenRevoked}</Soft> : <Time at={at} />),
        },
        {
          key: 'used',
          label: texts.lastOpened,
          render: ({ last_used: at }) => (at === null ? <Soft>{texts.never}</Soft> : <Time at={at} isAgo />),
        },
        {
          key: 'actions',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: (link) => (
            <Button size="s" aria-label={texts.revokeOf(link.name)} onClick={() => onRevoke(link)}>
              {TEXTS.words.buttons.revoke}
            </Button>
          ),
        },
      ]}
    />
  )
}

function whatOf({ kind, of }: ListedSharedLink): string {
  if (kind === 'segment') return of === null ? texts.noSegment : texts.segment(of)
  if (kind === 'company') return texts.company(of ?? '')
  return of === '' ? texts.allCompanies : texts.companiesWith(of ?? '')
}

function labelOf(column: ListedSharedLink['columns'][number]): string {
  return COLUMNS.find(({ key }) => key === column)!.label
}
