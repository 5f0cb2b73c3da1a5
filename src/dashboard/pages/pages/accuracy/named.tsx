import type { NamedAnswer } from '../../../../../schemas/dashboard/accuracy.ts'
import { type NamedCounts, NOT_NAMED_CLASSES, type NotNamed, pointsOf } from '../../../../../schemas/named.ts'
import { BarList } from '../../design/bar-list.tsx'
import { Chart } from '../../design/chart.tsx'
import { type CategoryColour, CLASS_COLOURS } from '../../design/colours.ts'
import { Grid, Text } from '../../design/layout.tsx'
import { Problem } from '../../design/notice.tsx'
import { Card, Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { withUtc } from '../../lib/day-clock.ts'
import { wholePercent } from '../../lib/format.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.accuracy.named

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
    <Section title={texts.title} description={texts.about(withUtc(texts.receipt))}>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined ? error === undefined && <Loading rows={6} /> : <Shares answer={value} days={days} />}
    </Section>
  )
}

function Shares({ answer, days }: { readonly answer: NamedAnswer; readonly days: string }) {
  const { now, before, weeks } = answer
  if (now.events === 0) return <Text tone="soft">{texts.none(days)}</Text>
  const shown = NOT_NAMED_CLASSES.filter((name) => [now, ...weeks].some(({ others }) => others[name] > 0))
  const shareOf = (counts: NamedCounts, count: number) => (counts.events === 0 ? null : count / counts.events)
  const bar = (key: string, name: string, count: number, countBefore: number) => {
    const [share, shareBefore] = [shareOf(now, count), shareOf(before, countBefore)]
    const points = pointsOf({ now: { share }, before: { share: shareBefore } })
    return {
      ...{ key, name, value: count },
      text: texts.share(wholePercent(share ?? 0), points),
    }
  }
  return (
    <Grid min={420} gap={5}>
      <Card title={texts.of(now.events, days)}>
        <BarList
          whole={now.events}
          bars={[
            bar('named', texts.named, now.named, before.named),
            ...shown
              .map((name) => bar(name, texts.others[name], now.others[name], before.others[name]))
              .sort((a, b) => b.value - a.value),
          ]}
        />
      </Card>
      <Card title={texts.byWeek}>
        <Chart
          label={texts.chart}
          dayTitle={withUtc(texts.firstDay)}
          isUtc
          days={weeks.map(({ from }) => from)}
          series={[
            { name: texts.named, colour: 1, values: weeks.map(({ named }) => named) },
            ...shown.map((name) => ({
              name: texts.others[name],
              colour: COLOURS[name],
              values: weeks.map(({ others }) => others[name]),
            })),
          ]}
        />
      </Card>
    </Grid>
  )
}
