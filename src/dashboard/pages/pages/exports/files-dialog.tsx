import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { sentence } from '../../design/notice.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { bytes, number } from '../../lib/format.ts'
import { TEXTS } from '../../texts/texts.ts'
import { fileName, filePath } from './words.ts'

const texts = TEXTS.exports.files

interface FilesDialogProps {
  readonly tenant: string
  readonly shown: ListedExport
  readonly onClose: () => void
}

/** The last attempts of an export: their files, or why there is none. */
export function FilesDialog({ tenant, shown: { export_id: id, name, folder, runs, keep }, onClose }: FilesDialogProps) {
  return (
    <Dialog
      title={texts.title(name)}
      isWide
      onClose={onClose}
      actions={<Button onClick={onClose}>{TEXTS.words.buttons.close}</Button>}
    >
      <Stack>
        <Text tone="soft">{texts.about(<code>{folder}</code>, number(keep))}</Text>
        {runs.length === 0 && <Text>{texts.none}</Text>}
        {runs.length > 0 && (
          <Table
            label={texts.title(name)}
            rows={runs}
            keyOf={({ at, object }) => `${at} ${object}`}
            columns={[
              {
                key: 'file',
                label: texts.file,
                text: 'wrap',
                inCard: 'whole',
                render: ({ object, error }) =>
                  object === null ? (
                    <Text as="span" tone="bad">
                      {sentence(error ?? texts.notWritten)}
                    </Text>
                  ) : (
                    <a href={filePath(tenant, id, object)} download>
                      {fileName(object)}
                    </a>
                  ),
              },
              { key: 'at', label: texts.written, render: ({ at }) => <Time at={at} /> },
              {
                key: 'rows',
                label: TEXTS.words.fields.companies,
                isNumber: true,
                render: ({ rows }) => (rows === null ? '–' : number(rows)),
              },
              {
                key: 'size',
                label: texts.size,
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
