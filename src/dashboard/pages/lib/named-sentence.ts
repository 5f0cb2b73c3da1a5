import { type NamedSpans, othersOf, pointsOf } from '../../../../schemas/named.ts'
import { TEXTS } from '../texts/texts.ts'
import { isInUtc } from './days.ts'
import { number, wholePercent } from './format.ts'

const texts = TEXTS.lib.named

/** How many events of this week could be named, how that changed, and why the others could not. */
export function namedSentence({ now, before }: NamedSpans): string {
  const { events, named, share } = now
  const sentence = texts.named(named, events, wholePercent(share ?? 0), pointsOf({ now, before }), isInUtc())
  const others = othersOf(now).map(([name, count]) => texts.others[name](number(count)))
  return others.length === 0 ? sentence : texts.withOthers(sentence, others)
}
