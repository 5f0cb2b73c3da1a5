import { Ellipsis, FilePlus, List, Mail, Pause, Play, Trash2 } from 'lucide-preact'
import { Link } from 'wouter-preact'
import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { Badge } from '../../design/badge.tsx'
import { IconButton } from '../../design/button.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { sentence } from '../../design/notice.tsx'
import { Menu } from '../../design/popover.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { bytes, capitalised, counted } from '../../lib/format.ts'
import { useMay } from '../../lib/may.ts'
import { segmentPath } from '../../lib/segment-view.ts'
import { useSegments } from '../../lib/segments.ts'
import { fileName, filePath, hasFailed, mailWords, scheduleWords } from './words.ts'

export type ExportAction = 'run' | 'files' | 'mails' | 'pause' | 'resume' | 'remove'

interface ExportListProps {
  readonly tenant: string
  readonly exports: readonly ListedExport[]
  readonly onAct: (action: ExportAction, shown: ListedExport) => void
}

/** The exports of a tenant: content, schedule, and last file. */
export function ExportList({ tenant, exports, onAct }: ExportListProps) {
  return (
    <Table
      label="Exports"
      rows={exports}
      keyOf={({ export_id: id }) => id}
      columns={[
        {
          key: 'name',
          label: 'Export',
          text: 'wrap',
          render: (one) => (
            <Stack gap={1}>
              <Text as="span" isStrong>
                {one.name}
              </Text>
              <Text tone="soft" isSmall>
                Companies of <SegmentName tenant={tenant} segment={one.segment} />
              </Text>
            </Stack>
          ),
        },
        {
          key: 'when',
          label: 'Written',
          text: 'wrap',
          inCard: 'whole',
          render: (one) => (
            <Stack gap={1}>
              <span>{capitalised(scheduleWords(one))}</span>
              {one.next_at !== null && (
                <Text tone="soft" isSmall>
                  Next: <Time at={one.next_at} />
                </Text>
              )}
            </Stack>
          ),
        },
        { key: 'state', label: 'State', text: 'wrap', inCard: 'whole', render: (one) => <State shown={one} /> },
        {
          key: 'last',
          label: 'Last file',
          text: 'wrap',
          inCard: 'whole',
          render: ({ export_id: id, last }) =>
            last === null ? (
              <Text as="span" tone="soft">
                none yet
              </Text>
            ) : (
              <Stack gap={1}>
                <a href={filePath(tenant, id, last.object)} download>
                  {fileName(last.object)}
                </a>
                <Text tone="soft" isSmall>
                  {counted(last.rows, 'company', 'companies')}, {bytes(last.bytes)}, <Time at={last.written_at} isAgo />
                </Text>
              </Stack>
            ),
        },
        {
          key: 'actions',
          label: 'Actions',
          isLabelHidden: true,
          isActions: true,
          render: (one) => <Actions shown={one} onAct={onAct} />,
        },
      ]}
    />
  )
}

function SegmentName({ tenant, segment }: { readonly tenant: string; readonly segment: ListedExport['segment'] }) {
  const { segments = [] } = useSegments()
  const found = segments.find(({ segment_id: id }) => id === segment.segment_id)
  if (found === undefined) return <>{segment.name ?? 'a segment that was removed'}</>
  return <Link href={segmentPath(tenant, found)}>{found.name}</Link>
}

function State({ shown: { paused, error, open_since: since, mails } }: { readonly shown: ListedExport }) {
  return (
    <Stack gap={1}>
      <Row gap={2}>
        {paused !== null ? (
          <Badge tone={paused.by === 'person' ? 'neutral' : 'bad'}>paused</Badge>
        ) : error !== null ? (
          <Badge tone="bad">failed</Badge>
        ) : (
          <Badge tone="good">on</Badge>
        )}
      </Row>
      {paused !== null && paused.reason !== '' && (
        <Text tone="soft" isSmall>
          {sentence(paused.reason)}
        </Text>
      )}
      {error !== null && (
        <Text tone="soft" isSmall>
          {sentence(error.message)} {counted(error.failures, 'attempt')}, next <Time at={error.retry_at} isAgo />
        </Text>
      )}
      {error === null && since !== null && (
        <Text isSmall>
          A file is due since <Time at={since} />
        </Text>
      )}
      {mails.filter(hasFailed).map((mail) => (
        <Text key={mail.mail_id} tone="bad" isSmall>
          {mailWords(mail)}
        </Text>
      ))}
    </Stack>
  )
}

function Actions({ shown, onAct }: Pick<ExportListProps, 'onAct'> & { readonly shown: ListedExport }) {
  const label = `Actions for ${shown.name}`
  if (!useMay('member')) return null
  return (
    <Menu
      label={label}
      align="end"
      trigger={(props) => <IconButton icon={Ellipsis} label={label} {...props} />}
      entries={[
        { label: 'Write a file now', icon: FilePlus, onSelect: () => onAct('run', shown) },
        { label: 'Show its files', icon: List, onSelect: () => onAct('files', shown) },
        { label: 'Send by e-mail', icon: Mail, onSelect: () => onAct('mails', shown) },
        shown.paused === null
          ? { label: 'Pause', icon: Pause, onSelect: () => onAct('pause', shown) }
          : { label: 'Resume', icon: Play, onSelect: () => onAct('resume', shown) },
        'line',
        { label: 'Remove', icon: Trash2, isDanger: true, onSelect: () => onAct('remove', shown) },
      ]}
    />
  )
}
