import { type NamedCounts, type NamedSpans, othersOf, pointsOf } from '../../../../schemas/named.ts'
import { TEXTS } from '../texts/texts.ts'
import { isInUtc } from './days.ts'
import { number, wholePercent } from './format.ts'

const texts = TEXTS.lib.named

/** How many events of this week could be named, and how that changed. */
export function namedSentence({ now, before }: NamedSpans): string {
  const { events, named, share } = now
  return texts.named(named, events, wholePercent(share ?? 0), pointsOf({ now, before }), isInUtc())
}

/** Why the other events could not be named; undefined: all were. */
export function othersSentence(now: NamedCounts): string | undefined {
  const others = othersOf(now).map(([name, count]) => texts.others[name](number(count)))
  return others.length === 0 ? undefined : texts.theOthers(others)
}
