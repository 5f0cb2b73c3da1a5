import { Chip } from '../design/chip.tsx'
import { Text } from '../design/layout.tsx'
import { OTHER_COUNTS, OTHER_LISTS } from '../lib/company-view.ts'
import type { UrlChange } from '../lib/url-state.ts'

type Other = (typeof OTHER_LISTS)[number] | (typeof OTHER_COUNTS)[number]

const LABELS: Readonly<Record<Other, readonly [label: string, before: string]>> = {
  industry_not: ['Industry', 'not'],
  category_not: ['Category', 'not'],
  country_not: ['Visits from', 'not'],
  classification_not: ['Type', 'not'],
  tag_not: ['Tag', 'not'],
  owner_not: ['Owner', 'not'],
  status_not: ['Status', 'not'],
  fit_not: ['Fit', 'not'],
  source_not: ['Source', 'not'],
  campaign_not: ['Campaign', 'not'],
  first_channel_not: ['First touch', 'not'],
  last_channel_not: ['Last touch', 'not'],
  first_campaign_not: ['First campaign', 'not'],
  last_campaign_not: ['Last campaign', 'not'],
  visits_max: ['Visits', 'at most'],
  events_min: ['Events', 'at least'],
  events_max: ['Events', 'at most'],
  heat_max: ['Heat', 'at most'],
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
    const [label, before] = LABELS[name]
    return (
      <Chip
        key={name}
        label={label}
        summary={`${before} ${values.join(' or ')}`}
        onClear={() => set({ [name]: '', page: '' })}
      >
        {() => (
          <Text tone="soft" isSmall>
            The segment has this filter. The command line changes it.
          </Text>
        )}
      </Chip>
    )
  })
}
