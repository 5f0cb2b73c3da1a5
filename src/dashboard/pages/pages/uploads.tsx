import { FileUp } from 'lucide-preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { UploadLimits, UploadList } from '../../../../schemas/dashboard/uploads.ts'
import { Button } from '../design/button.tsx'
import { CodeLine } from '../design/code.tsx'
import { List, Row, Text } from '../design/layout.tsx'
import { EmptyState, Notice, Problem } from '../design/notice.tsx'
import { Page, Section } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { bytes } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { dismissTransfer, useTransfers } from '../lib/transfers.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { DropZone, useDroppedFiles } from './uploads/drop-zone.tsx'
import { FilePreview } from './uploads/file-preview.tsx'
import { JobCard, useJobRates } from './uploads/job-card.tsx'
import { TransferCard } from './uploads/transfer-card.tsx'

const texts = TEXTS.uploads.page

const OPEN_MS = 1_000
const IDLE_MS = 10_000

/** Uploads of event files, and their jobs. */
export function Uploads({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  // State belongs to one tenant.
  return <UploadsOf key={tenant} tenant={tenant} />
}

function UploadsOf({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${encodeURIComponent(tenant)}/uploads`
  const [url, setUrl] = useUrlState()
  const [file, setFile] = useState<File>()
  const [isSeveral, setSeveral] = useState(false)
  const take = useCallback((files: FileList | null) => {
    setSeveral((files?.length ?? 0) > 1)
    if (files?.length === 1) setFile(files[0])
  }, [])
  const isOver = useDroppedFiles(take)
  const [isOpen, setOpen] = useState(true)
  const list = useData<UploadList>(path, { before: url.get('before') ?? '' }, isOpen ? OPEN_MS : IDLE_MS)
  const transfers = useTransfers(tenant)
  const jobs = list.value?.jobs
  const rates = useJobRates(jobs)
  const stored = transfers.filter(({ state }) => state === 'stored')
  useEffect(() => {
    if (jobs !== undefined) setOpen(jobs.some(({ status }) => status === 'queued' || status === 'running'))
    const isListed = (jobId: string | undefined) => jobs?.some(({ job_id }) => job_id === jobId)
    for (const { id, jobId } of stored) if (url.has('before') || isListed(jobId)) dismissTransfer(id)
  }, [jobs])
  useEffect(() => {
    if (stored.length > 0) list.reload()
  }, [stored.length])
  const limits = list.value?.limits
  return (
    <Page title={texts.title} description={texts.about}>
      {file === undefined || limits === undefined ? (
        <DropZone
          title={texts.drop}
          about={texts.aboutFile}
          onFiles={take}
          isOver={isOver}
          note={limits && limitsText(limits)}
        />
      ) : (
        <FilePreview key={keyOf(file)} tenant={tenant} file={file} limits={limits} onClose={() => setFile(undefined)} />
      )}
      {isSeveral && (
        <Notice tone="bad" role="alert">
          <p>{texts.oneAtATime}</p>
        </Notice>
      )}
      {transfers.map((transfer) => (
        <TransferCard key={transfer.id} transfer={transfer} />
      ))}
      <Section title={texts.jobs}>
        {list.error && <Problem error={list.error} onRetry={list.reload} />}
        {jobs === undefined && list.error === undefined && <Loading />}
        {jobs?.length === 0 && <NoJobs isFirst={!url.has('before')} />}
        {jobs !== undefined && jobs.length > 0 && (
          <List label={texts.jobs}>
            {jobs.map((job) => (
              <li key={job.job_id}>
                <JobCard job={job} rate={rates.get(job.job_id)} path={path} onChange={list.reload} />
              </li>
            ))}
          </List>
        )}
        {(url.has('before') || list.value?.next) && (
          <Row>
            {url.has('before') && <Button onClick={() => setUrl({ before: '' })}>{TEXTS.words.buttons.newest}</Button>}
            {list.value?.next && (
              <Button onClick={() => setUrl({ before: list.value!.next! })}>{TEXTS.words.buttons.older}</Button>
            )}
          </Row>
        )}
      </Section>
    </Page>
  )
}

/** A new file resets the form. */
function keyOf({ name, size, lastModified }: File): string {
  return `${name} ${size} ${lastModified}`
}

function limitsText({ bytes_max, lines_max, jobs_max }: UploadLimits): string {
  return texts.limits(bytes(bytes_max), lines_max, jobs_max)
}

function NoJobs({ isFirst }: { readonly isFirst: boolean }) {
  if (!isFirst) return <Text tone="soft">{texts.noOlder}</Text>
  return (
    <EmptyState icon={FileUp} title={texts.none}>
      <p>{texts.dropOrSend}</p>
      <CodeLine text="./ipid batch upload FILE" label={texts.command} />
    </EmptyState>
  )
}
