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
import { capitalised, counted, number, percent } from '../lib/format.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'

const TOUCHES = [
  { value: 'first', label: 'First touch' },
  { value: 'last', label: 'Last touch' },
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
          label="Which touch counts"
          value={touch}
          options={TOUCHES}
          onChange={(next) => set({ touch: next === 'first' ? '' : next }, true)}
        />
        <Text tone="soft" role="status">
          {value === undefined ? '' : counted(value.companies, 'company', 'companies')}
        </Text>
      </Row>
      <Text tone="soft" isSmall isMeasured>
        {touch === 'first'
          ? 'The first touch is what brought a company the first time that it read a page.'
          : 'The last touch is what brought a company most recently; direct visits count only where there was nothing else.'}
      </Text>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <LoadingCards cards={3} rows={6} />}
      {value?.companies === 0 && (
        <EmptyState icon={SplitIcon} title="No known company came on these days">
          <p>Choose more days.</p>
        </EmptyState>
      )}
      {value !== undefined && value.companies > 0 && (
        <Grid min={300}>
          <Ranking
            title="Channels"
            all={value.companies}
            rows={value.channels.map(({ channel, companies }) => ({
              name: channel === '' ? 'Not known: no page in its events' : capitalised(channel),
              href: hrefOf('channel', channel),
              companies,
            }))}
          />
          <Ranking
            title="Campaigns"
            all={value.companies}
            none="No company came by a campaign (utm_campaign)."
            rows={value.campaigns.map(({ campaign, companies }) => ({
              name: campaign,
              href: hrefOf('campaign', campaign),
              companies,
            }))}
          />
          <Ranking
            title="Sites and senders"
            all={value.companies}
            none="No company came from another site or a campaign."
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
