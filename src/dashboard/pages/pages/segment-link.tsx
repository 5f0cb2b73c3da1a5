import { Compass } from 'lucide-preact'
import { Redirect } from 'wouter-preact'
import { LinkButton } from '../design/button.tsx'
import { EmptyState } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import type { PageProps } from '../lib/page-props.ts'
import { segmentPath } from '../lib/segment-view.ts'
import { useSegments } from '../lib/segments.ts'
import { useUrlState } from '../lib/url-state.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.segmentLink.page

/** Opens the list of companies with the filter that a segment has now. Mails link here, and the filter may have changed since. */
export function SegmentLink({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [state] = useUrlState()
  const { segments } = useSegments()
  const found = segments?.find(({ segment_id: id }) => id === state.get('id'))
  if (found !== undefined) return <Redirect to={segmentPath(tenant, found)} replace />
  return (
    <Page title={texts.title}>
      {segments === undefined ? (
        <Loading />
      ) : (
        <EmptyState icon={Compass} title={texts.gone}>
          <p>{texts.removed}</p>
          <LinkButton href={`/t/${tenant}/companies`}>{texts.all}</LinkButton>
        </EmptyState>
      )}
    </Page>
  )
}
