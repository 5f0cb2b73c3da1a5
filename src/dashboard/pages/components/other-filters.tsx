import { Chip } from '../design/chip.tsx'
import { Text } from '../design/layout.tsx'
import { OTHER_COUNTS, OTHER_LISTS } from '../lib/company-view.ts'
import type { UrlChange } from '../lib/url-state.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.otherFilters

type Other = (typeof OTHER_LISTS)[number] | (typeof OTHER_COUNTS)[number]

const { fields } = TEXTS.words
const LABELS: Readonly<Record<Other, readonly [label: string, summary: (values: readonly string[]) => string]>> = {
  industry_not: [fields.industry, texts.not],
  category_not: [fields.category, texts.not],
  country_not: [fields.visitsFrom, texts.not],
  classification_not: [fields.type, texts.not],
  tag_not: [fields.tag, texts.not],
  owner_not: [fields.owner, texts.not],
  status_not: [fields.status, texts.not],
  fit_not: [fields.fit, texts.not],
  source_not: [fields.source, texts.not],
  campaign_not: [fields.campaign, texts.not],
  first_channel_not: [fields.firstTouch, texts.not],
  last_channel_not: [fields.lastTouch, texts.not],
  first_campaign_not: [fields.firstCampaign, texts.not],
  last_campaign_not: [fields.lastCampaign, texts.not],
  visits_max: [fields.visits, texts.atMost],
  events_min: [fields.events, texts.atLeast],
  events_max: [fields.events, texts.atMost],
  heat_max: [fields.heat, texts.atMost],
}

interface OtherFiltersProps {
  readonly state: URLSearchParams
  readonly set: (change: UrlChange) => void
}

/** Filters of a segment that the list has no choice for: they are shown, and can be cleared. */
export function OtherFilters({ state, set }: OtherFiltersProps) {
  return [...OTHER_LISTS, ...OTHER_COUNTS].map((name) => {
    const values = state.getAll(name)
    if (values.length === 0) return null
    const [label, summary] = LABELS[name]
    return (
      <Chip key={name} label={label} summary={summary(values)} onClear={() => set({ [name]: '', page: '' })}>
        {() => (
          <Text tone="soft" isSmall>
            {texts.ofSegment}
          </Text>
        )}
      </Chip>
    )
  })
}
