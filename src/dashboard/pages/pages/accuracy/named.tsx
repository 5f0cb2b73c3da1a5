import type { NamedAnswer } from '../../../../../schemas/dashboard/accuracy.ts'
import {
  type NamedCounts,
  NOT_NAMED,
  NOT_NAMED_CLASSES,
  type NotNamed,
  pointsText,
} from '../../../../../schemas/named.ts'
import { BarList } from '../../design/bar-list.tsx'
import { Chart } from '../../design/chart.tsx'
import { type CategoryColour, CLASS_COLOURS } from '../../design/colours.ts'
import { Grid, Text } from '../../design/layout.tsx'
import { Problem } from '../../design/notice.tsx'
import { Card, Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { counted } from '../../lib/format.ts'
import { wholePercent } from '../../lib/named-sentence.ts'
import { useData } from '../../lib/use-data.ts'

const COLOURS: Readonly<Record<NotNamed, CategoryColour>> = {
  access: CLASS_COLOURS.isp!,
  hosting: CLASS_COLOURS.hosting!,
  vpn: CLASS_COLOURS.vpn!,
  bot: CLASS_COLOURS.bot!,
  reserved: CLASS_COLOURS.reserved!,
  rules: 6,
  unknown: 10,
}

/** The share of the events whose company could be named, the classes of the others, and both by week. */
export function Named({ tenant, days }: { readonly tenant: string; readonly days: string }) {
  const { value, error, reload } = useData<NamedAnswer>(`/api/tenants/${tenant}/accuracy/named`, { days })
  return (
    <Section
      title="Could be named"
      description="Events, such as page views, by the day they were received (UTC). Visitors at home or on a phone have the address of their access provider, which names no company; the data do not tell the two apart."
    >
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined ? error === undefined && <Loading rows={6} /> : <Shares answer={value} days={days} />}
    </Section>
  )
}

function Shares({ answer, days }: { readonly answer: NamedAnswer; readonly days: string }) {
  const { now, before, weeks } = answer
  if (now.events === 0) return <Text tone="soft">No event was received in the last {days} days.</Text>
  const shown = NOT_NAMED_CLASSES.filter((name) => [now, ...weeks].some(({ others }) => others[name] > 0))
  const shareOf = (counts: NamedCounts, count: number) => (counts.events === 0 ? null : count / counts.events)
  const bar = (key: string, name: string, count: number, countBefore: number) => {
    const [share, shareBefore] = [shareOf(now, count), shareOf(before, countBefore)]
    const points = pointsText({ now: { share }, before: { share: shareBefore } })
    return {
      ...{ key, name, value: count },
      text: `${wholePercent(share ?? 0)}${points === '' ? '' : ` · ${points}`}`,
    }
  }
  return (
    <Grid min={420} gap={5}>
      <Card title={`Of ${counted(now.events, 'event')} in ${days} days, and the change from the ${days} before`}>
        <BarList
          whole={now.events}
          bars={[
            bar('named', 'Named', now.named, before.named),
            ...shown
              .map((name) => bar(name, NOT_NAMED[name].about, now.others[name], before.others[name]))
              .sort((a, b) => b.value - a.value),
          ]}
        />
      </Card>
      <Card title="By week">
        <Chart
          label="Events by week, by whether they could be named"
          dayTitle="First day of the week (UTC)"
          isUtc
          days={weeks.map(({ from }) => from)}
          series={[
            { name: 'Named', colour: 1, values: weeks.map(({ named }) => named) },
            ...shown.map((name) => ({
              name: NOT_NAMED[name].about,
              colour: COLOURS[name],
              values: weeks.map(({ others }) => others[name]),
            })),
          ]}
        />
      </Card>
    </Grid>
  )
}
