import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { sentence } from '../../design/notice.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { bytes, number } from '../../lib/format.ts'
import { fileName, filePath } from './words.ts'

interface FilesDialogProps {
  readonly tenant: string
  readonly shown: ListedExport
  readonly onClose: () => void
}

/** The last attempts of an export: their files, or why there is none. */
export function FilesDialog({ tenant, shown: { export_id: id, name, folder, runs, keep }, onClose }: FilesDialogProps) {
  return (
    <Dialog title={`Files of ${name}`} isWide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Stack>
        <Text tone="soft">
          The last attempts, newest first. Files are in <code>{folder}</code>, the last {number(keep)} of them.
        </Text>
        {runs.length === 0 && <Text>No file was written yet.</Text>}
        {runs.length > 0 && (
          <Table
            label={`Files of ${name}`}
            rows={runs}
            keyOf={({ at, object }) => `${at} ${object}`}
            columns={[
              {
                key: 'file',
                label: 'File',
                text: 'wrap',
                inCard: 'whole',
                render: ({ object, error }) =>
                  object === null ? (
                    <Text as="span" tone="bad">
                      {sentence(error ?? 'not written')}
                    </Text>
                  ) : (
                    <a href={filePath(tenant, id, object)} download>
                      {fileName(object)}
                    </a>
                  ),
              },
              { key: 'at', label: 'Written', render: ({ at }) => <Time at={at} /> },
              {
                key: 'rows',
                label: 'Companies',
                isNumber: true,
                render: ({ rows }) => (rows === null ? '–' : number(rows)),
              },
              {
                key: 'size',
                label: 'Size',
                isNumber: true,
                render: ({ bytes: size }) => (size === null ? '–' : bytes(size)),
              },
            ]}
          />
        )}
      </Stack>
    </Dialog>
  )
}
