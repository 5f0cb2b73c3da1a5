import './interval.css'
import type { AccuracyAnswer } from '../../../../../schemas/dashboard/accuracy.ts'
import { Soft } from '../../components/judgement.tsx'
import { percent } from '../../lib/format.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.accuracy.interval

/** A share with its 95 % interval, as text and as a bar. */
export function Interval({ share: { precision, low, high } }: { readonly share: AccuracyAnswer['all'] }) {
  if (precision === null || low === null || high === null) return <Soft>{texts.none}</Soft>
  const [from, to] = [low, high].map((value) => Math.round(value * 100)) as [number, number]
  return (
    <span class="ui-interval">
      <span>
        <strong>{percent(Math.round(precision * 100) / 100)}</strong> <Soft>{texts.range(from, to)}</Soft>
      </span>
      <span class="ui-interval-bar" aria-hidden="true">
        <span class="ui-interval-range" style={{ left: `${from}%`, width: `${Math.max(1, to - from)}%` }} />
        <span class="ui-interval-point" style={{ left: `${precision * 100}%` }} />
      </span>
    </span>
  )
}
