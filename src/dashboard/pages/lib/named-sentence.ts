import { type NamedSpans, NOT_NAMED, othersOf, pointsText } from '../../../../schemas/named.ts'
import { counted, number, percent } from './format.ts'

/** In whole percent, so that it agrees with the points. */
export const wholePercent = (share: number) => percent(share < 0.005 ? share : Math.round(share * 100) / 100)

/** How many events of this week could be named, how that changed, and why the others could not. */
export function namedSentence({ now, before }: NamedSpans): string {
  const { events, named, share } = now
  const points = pointsText({ now, before })
  const others = othersOf(now).map(([name, count]) => `${number(count)} ${NOT_NAMED[name].label}`)
  const of = `${number(named)} of ${counted(events, 'page view or other event', 'page views and other events')}`
  const than = points === 'no change' ? 'from' : 'on'
  const change = points === '' ? '' : `, ${points} ${than} the previous 7 days`
  return `${of} of the last 7 days could be named: ${wholePercent(share ?? 0)}${change}.${others.length === 0 ? '' : ` The others: ${others.join(', ')}.`}`
}
