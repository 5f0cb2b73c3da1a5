import { useCallback, useState } from 'preact/hooks'
import { IMPORT_LIMITS, type ImportAnswer } from '../../../../schemas/api/company-import.ts'
import { CodeBlock } from '../design/code.tsx'
import { Disclosure } from '../design/details.tsx'
import { Stack, Text } from '../design/layout.tsx'
import { Notice } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { listPath } from '../lib/company-view.ts'
import { bytes, number } from '../lib/format.ts'
import { useOwnColumns } from '../lib/own-columns.ts'
import type { PageProps } from '../lib/page-props.ts'
import { TEXTS } from '../texts/texts.ts'
import { ImportDone } from './import/import-done.tsx'
import { ListPreview } from './import/list-preview.tsx'
import { OwnColumns } from './import/own-columns.tsx'
import { DropZone, useDroppedFiles } from './uploads/drop-zone.tsx'

const texts = TEXTS.importList.page

const EXAMPLE = `domain,status,owner,tags,employees,renewal
acme.example,customer,Ada Lovelace,key account,250,2027-03-31
globex.example,open deal,,,1200,
initech.example,competitor,,,,`

/** Imports what people know of companies from a list, step by step: choose, check, apply. */
export function ImportCompanies({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  // State belongs to one tenant.
  return <ImportOf key={tenant} tenant={tenant} />
}

function ImportOf({ tenant }: { readonly tenant: string }) {
  const [file, setFile] = useState<File>()
  const [done, setDone] = useState<ImportAnswer>()
  const [isSeveral, setSeveral] = useState(false)
  const own = useOwnColumns(tenant)
  const take = useCallback((files: FileList | null) => {
    setSeveral((files?.length ?? 0) > 1)
    if (files?.length !== 1) return
    setDone(undefined)
    setFile(files[0])
  }, [])
  const isOver = useDroppedFiles(take)
  const applied = (answer: ImportAnswer) => {
    setDone(answer)
    setFile(undefined)
    own.reload()
  }
  return (
    <Page
      title={texts.title}
      description={texts.about}
      back={{ href: listPath(tenant), label: TEXTS.words.fields.companies }}
    >
      {done !== undefined && <ImportDone tenant={tenant} done={done} changed={own.reload} />}
      {file === undefined ? (
        <DropZone
          title={texts.drop}
          about={texts.aboutFile}
          onFiles={take}
          isOver={isOver}
          note={texts.limits(number(IMPORT_LIMITS.rows), bytes(IMPORT_LIMITS.bytes))}
        />
      ) : (
        <ListPreview
          key={`${file.name} ${file.size} ${file.lastModified}`}
          tenant={tenant}
          file={file}
          own={own.columns}
          onDone={applied}
          onClose={() => setFile(undefined)}
        />
      )}
      {isSeveral && (
        <Notice tone="bad" role="alert">
          <p>{texts.oneAtATime}</p>
        </Notice>
      )}
      {file === undefined && (
        <>
          <Disclosure summary={texts.howItLooks}>
            <Stack gap={3}>
              <Text isMeasured>{texts.aboutList}</Text>
              <CodeBlock label={texts.example} text={EXAMPLE} />
            </Stack>
          </Disclosure>
          <OwnColumns tenant={tenant} own={own} />
        </>
      )}
    </Page>
  )
}
