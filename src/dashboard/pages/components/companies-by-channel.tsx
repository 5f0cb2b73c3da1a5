import { Split as SplitIcon } from 'lucide-preact'
import type { ChannelsAnswer } from '../../../../schemas/dashboard/channels.ts'
import { type Bar, BarList } from '../design/bar-list.tsx'
import { Grid, Row, Stack, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Card } from '../design/page.tsx'
import type { DayRange } from '../design/ranges.ts'
import { LoadingCards } from '../design/skeleton.tsx'
import { Segmented } from '../design/tabs.tsx'
import { companiesPath } from '../lib/company-links.ts'
import { capitalised, number, percent } from '../lib/format.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.companiesByChannel

const TOUCHES = [
  { value: 'first', label: TEXTS.words.fields.firstTouch },
  { value: 'last', label: TEXTS.words.fields.lastTouch },
] as const

interface ByChannelProps {
  readonly tenant: string
  readonly days: DayRange
}

/** The companies with a visit on these days, by the channel, campaign and source of their first or last touch. The URL holds which. */
export function CompaniesByChannel({ tenant, days }: ByChannelProps) {
  const [state, set] = useUrlState()
  const touch = state.get('touch') === 'last' ? 'last' : 'first'
  const { value, error, reload } = useData<ChannelsAnswer>(`/api/tenants/${tenant}/channels`, { ...days, touch })
  const hrefOf = (by: 'channel' | 'campaign', of: string) =>
    companiesPath(tenant, { ...days, touch: { by: `${touch}_${by}`, value: of } })
  return (
    <Stack gap={4}>
      <Row justify="between">
        <Segmented
          label={texts.which}
          value={touch}
          options={TOUCHES}
          onChange={(next) => set({ touch: next === 'first' ? '' : next }, true)}
        />
        <Text tone="soft" role="status">
          {value === undefined ? '' : texts.companies(value.companies)}
        </Text>
      </Row>
      <Text tone="soft" isSmall isMeasured>
        {touch === 'first' ? texts.aboutFirst : texts.aboutLast}
      </Text>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <LoadingCards cards={3} rows={6} />}
      {value?.companies === 0 && (
        <EmptyState icon={SplitIcon} title={texts.noCompany}>
          <p>{texts.moreDays}</p>
        </EmptyState>
      )}
      {value !== undefined && value.companies > 0 && (
        <Grid min={300}>
          <Ranking
            title={texts.channels}
            all={value.companies}
            rows={value.channels.map(({ channel, companies }) => ({
              name: channel === '' ? texts.notKnown : capitalised(channel),
              href: hrefOf('channel', channel),
              companies,
            }))}
          />
          <Ranking
            title={texts.campaigns}
            all={value.companies}
            none={texts.noCampaign}
            rows={value.campaigns.map(({ campaign, companies }) => ({
              name: campaign,
              href: hrefOf('campaign', campaign),
              companies,
            }))}
          />
          <Ranking
            title={texts.sources}
            all={value.companies}
            none={texts.noSource}
            rows={value.sources.map(({ source, companies }) => ({ name: source, companies }))}
          />
        </Grid>
      )}
    </Stack>
  )
}

interface RankingProps {
  readonly title: string
  readonly rows: readonly { readonly name: string; readonly href?: string; readonly companies: number }[]
  readonly all: number
  readonly none?: string
}

function Ranking({ title, rows, all, none }: RankingProps) {
  return (
    <Card title={title} isTight>
      {rows.length === 0 ? (
        <Text tone="soft">{none}</Text>
      ) : (
        <BarList
          whole={all}
          bars={rows.map(
            ({ name, companies, ...link }): Bar => ({
              ...{ key: name, name, ...link, value: companies },
              text: `${number(companies)} · ${percent(companies / all)}`,
            }),
          )}
        />
      )}
    </Card>
  )
}
