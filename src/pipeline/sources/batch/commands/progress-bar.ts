import { Presets, SingleBar } from 'cli-progress'
import type { CliContext } from '../../../../terminal/context.ts'

const BAR_MAX = 30
const BAR_MIN = 8
/** Assumed width of a terminal that does not report it. */
const COLUMNS = 80

export interface Progress {
  readonly what: string
  readonly unit: string
  readonly value: number
  /** 0 when unknown. */
  readonly total: number
  readonly perSecond: number
  /** NaN or infinite when unknown. */
  readonly secondsLeft: number
}

/** Fits one line: first the bar shrinks, then time, rate and numbers are left out. @param columns of the terminal */
export function progressLine(progress: Progress, columns: number): string {
  const { what, unit, value, total, perSecond, secondsLeft } = progress
  const number = (n: number) => Math.round(n).toLocaleString('en-US')
  const of = total > 0 ? `${number(value)} of ${number(total)} ${unit}` : `${number(value)} ${unit}`
  const rate = `${number(perSecond)}/s`
  const left = total > 0 && Number.isFinite(secondsLeft) ? `${number(secondsLeft)} s left` : ''
  const share = total > 0 ? Math.min(1, value / total) : 0
  const percent = total > 0 ? `${String(Math.floor(share * 100)).padStart(3)} %` : ''
  const texts = [[of, rate, left], [of, rate], [of], []]
  for (const parts of texts) {
    const text = [percent, ...parts].filter((part) => part !== '').join('  ')
    // Some terminals wrap when the last column is used.
    const room = columns - 1 - what.length - 2 - text.length
    if (total === 0 && room >= -1) return `${what} ${text}`
    if (room < BAR_MIN) continue
    const width = Math.min(BAR_MAX, room)
    const filled = Math.round(share * width)
    return `${what} ${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${text}`
  }
  return percent.slice(0, Math.max(0, columns - 1))
}

/** Draws nothing when standard error is not a terminal. */
export function progressBar({ stderr }: Pick<CliContext, 'stderr'>, what: string, unit: string): SingleBar {
  const startedAt = performance.now()
  return new SingleBar(
    {
      stream: stderr,
      noTTYOutput: false,
      hideCursor: true,
      gracefulExit: false,
      format: (_options, { value, total, eta }) => {
        const seconds = (performance.now() - startedAt) / 1_000
        const perSecond = value / Math.max(seconds, 0.001)
        const secondsLeft = typeof eta === 'number' ? eta : Number.NaN
        return progressLine({ what, unit, value, total, perSecond, secondsLeft }, stderr.columns ?? COLUMNS)
      },
    },
    Presets.shades_classic,
  )
}
