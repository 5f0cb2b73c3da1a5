import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { day as dayText, number, shortNumber } from '../lib/format.ts'
import { type DayClock, dayTitle } from './clock-choice.tsx'
import { Scroll } from './scroll.tsx'

/** A named series with a value for each day. */
interface ChartSeries {
  readonly name: string
  /** N of `--series-N` in the styles. */
  readonly colour: number
  readonly values: readonly number[]
}

interface ChartProps {
  /** Description for screen readers. */
  readonly label: string
  /** Meaning of a day. */
  readonly clock: DayClock
  /** UTC, `YYYY-MM-DD`, ascending. */
  readonly days: readonly string[]
  readonly series: readonly ChartSeries[]
  /** `stack`: bars on top of each other; `lines`: side by side. */
  readonly kind: 'stack' | 'lines'
}

const HEIGHT = 220

/** A chart by day. Shows the numbers of the day under the pointer, and all numbers as a table. */
export function Chart(props: ChartProps) {
  const { label, clock, days, series } = props
  const [pointed, setPointed] = useState<number>()
  const pointedDay = pointed === undefined ? undefined : days[pointed]
  return (
    <figure class="chart" aria-label={label}>
      <Canvas {...props} onPoint={setPointed} />
      <ul class="legend" aria-hidden="true">
        <li class="day">{pointedDay === undefined ? dayTitle(clock) : dayText(pointedDay)}</li>
        {series.map(({ name, colour, values }) => (
          <li key={name} class={`series-${colour}`}>
            {name}{' '}
            <span class="value" style={{ minWidth: `${number(Math.max(0, ...values)).length}ch` }}>
              {pointedDay === undefined ? '' : number(values[pointed!]!)}
            </span>
          </li>
        ))}
      </ul>
      <details>
        <summary>Numbers</summary>
        <Scroll label={`${label}: numbers`}>
          <table>
            <thead>
              <tr>
                <th scope="col">{dayTitle(clock)}</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {days.map((day, i) => (
                <tr key={day}>
                  <th scope="row">{dayText(day)}</th>
                  {series.map(({ name, values }) => (
                    <td key={name} class="number">
                      {number(values[i]!)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </details>
    </figure>
  )
}

interface CanvasProps extends ChartProps {
  /** @param i index of the day under the pointer; undefined: none */
  readonly onPoint: (i: number | undefined) => void
}

function Canvas({ days, series, kind, onPoint }: CanvasProps) {
  const canvas = useRef<HTMLDivElement>(null)
  const data = JSON.stringify([days, series])
  useEffect(() => {
    const element = canvas.current!
    let chart: uPlot | undefined
    let isGone = false
    const dark = window.matchMedia('(prefers-color-scheme: dark)')
    const draw = async () => {
      const { default: Plot } = await import('uplot')
      if (isGone) return
      chart?.destroy()
      chart = new Plot(
        optionsOf(Plot, element, { series, kind, onPoint }),
        [days.map((day) => Date.parse(day) / 1_000), ...valuesOf(series, kind)] as uPlot.AlignedData,
        element,
      )
    }
    void draw()
    const resized = new ResizeObserver(() => {
      if (chart !== undefined && element.clientWidth > 0) chart.setSize({ width: element.clientWidth, height: HEIGHT })
    })
    resized.observe(element)
    dark.addEventListener('change', draw)
    return () => {
      isGone = true
      resized.disconnect()
      dark.removeEventListener('change', draw)
      chart?.destroy()
    }
  }, [data, kind])
  return <div class="canvas" ref={canvas} aria-hidden="true" />
}

/** Draws a stack from its top: each series as the sum of itself and those below. */
function valuesOf(series: readonly ChartSeries[], kind: ChartProps['kind']): number[][] {
  if (kind === 'lines') return series.map(({ values }) => [...values])
  const sums: number[][] = []
  for (const { values } of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, i) => value + (below?.[i] ?? 0)))
  }
  return sums.reverse()
}

function optionsOf(
  Plot: typeof uPlot,
  element: HTMLElement,
  { series, kind, onPoint }: Omit<CanvasProps, 'label' | 'days' | 'clock'>,
): uPlot.Options {
  const styles = getComputedStyle(document.documentElement)
  const colour = (name: string) => styles.getPropertyValue(name).trim()
  const drawn = kind === 'stack' ? [...series].reverse() : series
  const bars = kind === 'stack' ? Plot.paths.bars!({ size: [0.7, 60] }) : undefined
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1_000), 'UTC'),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines' } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
    scales: {
      x: { time: true, range: rangeOf(kind) },
      y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.05)] },
    },
    axes: [
      { ...axis, size: 28, grid: { show: false }, values: (_chart, ticks) => ticks.map(shortDay) },
      {
        ...axis,
        size: 52,
        values: (_chart, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? shortNumber(tick) : '')),
      },
    ],
    series: [
      {},
      ...drawn.map(({ name, colour: index }) => {
        const stroke = colour(`--series-${index}`)
        return bars === undefined
          ? { label: name, stroke, width: 2, points: { show: false } }
          : { label: name, stroke, fill: stroke, width: 0, paths: bars, points: { show: false } }
      }),
    ],
  }
}

const HALF_DAY_SECONDS = 43_200

/** Adds half a day on both sides, because bars are centred on their day. */
function rangeOf(kind: ChartProps['kind']): uPlot.Range.Function {
  const room = kind === 'stack' ? HALF_DAY_SECONDS : 0
  return (_chart, min, max) => [min - room, max + room]
}

const short = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })

function shortDay(seconds: number): string {
  return seconds % 86_400 === 0 ? short.format(new Date(seconds * 1_000)) : ''
}
