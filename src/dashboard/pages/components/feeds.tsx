import { Bookmark } from 'lucide-preact'
import { useLocation } from 'wouter-preact'
import type { CreateSegmentBody, ListedSegment } from '../../../../schemas/dashboard/segments.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { FieldError } from '../design/field.tsx'
import { Row, Text } from '../design/layout.tsx'
import { toast } from '../design/toast.tsx'
import { post } from '../lib/api.ts'
import { segmentFilter, segmentPath } from '../lib/segment-view.ts'
import { useSegments } from '../lib/segments.ts'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.feeds

/** Lists to begin with: a name, and the query of the list. */
const FEEDS = [
  ['new-pricing', texts.newPricing, 'new_days=7&at=pricing'],
  ['customers-back', texts.customersBack, 'when=7d&condition=(tag=customer or status=customer) and not (new_days=7)'],
  ['hot-no-owner', texts.hotNoOwner, 'heat_min=50&owner=-'],
] as const

/** Feeds that are no segments yet. */
function useOffered(): readonly (typeof FEEDS)[number][] {
  const { segments } = useSegments()
  return segments === undefined ? [] : FEEDS.filter(([, name]) => !segments.some((segment) => segment.name === name))
}

/** The name of the feed that the list shows; undefined: none, or it is a segment already. */
export function useShownFeed(state: URLSearchParams): string | undefined {
  return useOffered().find(([id]) => id === state.get('feed'))?.[1]
}

/** A button that saves the shown list to begin with as a segment. */
export function KeepFeed({ tenant, state }: { readonly tenant: string; readonly state: URLSearchParams }) {
  const { reload } = useSegments()
  const [, navigate] = useLocation()
  const saving = useAction()
  const shown = useShownFeed(state)
  if (shown === undefined) return null
  const save = () =>
    saving.run(async () => {
      const body: CreateSegmentBody = { name: shown, filter: segmentFilter(state) }
      const made = await post<ListedSegment>(`/api/tenants/${tenant}/segments`, body)
      reload()
      navigate(segmentPath(tenant, made))
      toast({ text: texts.saved(made.name) })
    })
  return (
    <Row gap={2}>
      <Button size="s" icon={Bookmark} disabled={saving.isBusy} onClick={save}>
        {texts.keepAs(shown)}
      </Button>
      <FieldError error={saving.error} />
    </Row>
  )
}

/** Lists to begin with. */
export function Feeds({ tenant }: { readonly tenant: string }) {
  const offered = useOffered()
  if (offered.length === 0) return null
  return (
    <Row gap={2}>
      <Text as="span" tone="soft" isSmall>
        {texts.begin}
      </Text>
      {offered.map(([id, name, query]) => (
        <LinkButton
          key={id}
          size="s"
          variant="quiet"
          href={`/t/${tenant}/companies?${new URLSearchParams(`${query}&feed=${id}`)}`}
        >
          {name}
        </LinkButton>
      ))}
    </Row>
  )
}
