import 'uplot/dist/uPlot.min.css'
import './chart.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { daysAgo, utcDay } from '../lib/days.ts'
import { day as dayText, number, shortDay, shortNumber } from '../lib/format.ts'
import { TEXTS } from '../texts/texts.ts'
import { type CategoryColour, colourOf } from './colours.ts'
import { Disclosure } from './details.tsx'
import { Table } from './table.tsx'

const texts = TEXTS.design.chart

/** A named series with a value for each day. */
export interface ChartSeries {
  readonly name: string
  readonly colour: CategoryColour
  readonly values: readonly number[]
}

/** Values to compare with, drawn as a quiet line over the bars. */
export type ChartLine = Omit<ChartSeries, 'colour'>

interface ChartProps {
  /** Description for screen readers. */
  readonly label: string
  /** Meaning of a day, for example "Day of the event": heads the table of numbers. */
  readonly dayTitle: string
  /** `YYYY-MM-DD`, ascending, equally far apart: all days, or the first ones of weeks. */
  readonly days: readonly string[]
  readonly series: readonly ChartSeries[]
  readonly line?: ChartLine
  /** Whether the days are UTC, and not those of the workspace. */
  readonly isUtc?: boolean
  /** Pixels; default 220. */
  readonly height?: number
  /** Draws a mark for each day with one, because bars would all be as high as the chart. Says it in words. */
  readonly marks?: string | undefined
}

/** A day that the pointer is at. */
interface Pointed {
  readonly i: number
  /** Distance from the chart's left edge, pixels. */
  readonly left: number
}

const MARKS_HEIGHT_PX = 56

/**
 * A bar for each day, of series on top of each other. A note shows the numbers of the day under the pointer, and a table has all of them.
 * Today is hatched, because it is not over.
 */
export function Chart(props: ChartProps) {
  const { label, dayTitle, days, series, line, marks } = props
  const height = marks === undefined ? (props.height ?? 220) : MARKS_HEIGHT_PX
  const values = line === undefined ? series : [...series, line]
  const [pointed, setPointed] = useState<Pointed>()
  const today = todayOf(props)
  const hasToday = days.at(-1) === today
  const rows = days.map((day, i) => ({ day, i }))
  return (
    <figure class="ui-chart" aria-label={label}>
      <Canvas {...props} height={height} onPoint={setPointed} />
      {pointed !== undefined && <Note days={days} today={today} series={series} line={line} pointed={pointed} />}
      {marks === undefined ? (
        <ul class="ui-chart-legend" aria-hidden="true">
          {series.map(({ name, colour }) => (
            <li key={name} style={{ '--colour': colourOf(colour) }}>
              {name}
            </li>
          ))}
          {line !== undefined && <li class="is-line">{line.name}</li>}
          {hasToday && <li class="is-open">{texts.todaySoFar}</li>}
        </ul>
      ) : (
        <p class="ui-chart-marks">{marks}</p>
      )}
      <Disclosure summary={texts.numbers}>
        <Table
          label={texts.numbersOf(label)}
          isNeverStacked
          rows={rows}
          keyOf={({ day }) => day}
          columns={[
            { key: 'day', label: dayTitle, render: ({ day }) => dayText(day) },
            ...values.map(({ name, values }) => ({
              key: `series ${name}`,
              label: name,
              isNumber: true as const,
              render: ({ i }: { readonly i: number }) => number(values[i]!),
            })),
          ]}
        />
      </Disclosure>
    </figure>
  )
}

const todayOf = ({ isUtc }: Pick<ChartProps, 'isUtc'>) => (isUtc ? utcDay(Date.now()) : daysAgo(0))

function Note({
  days,
  today,
  series,
  line,
  pointed: { i, left },
}: Pick<ChartProps, 'days' | 'series' | 'line'> & { readonly today: string; readonly pointed: Pointed }) {
  const note = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { offsetWidth, parentElement } = note.current!
    const room = parentElement!.clientWidth
    const isLeft = left + 16 + offsetWidth > room
    note.current!.style.left = `${Math.max(0, isLeft ? left - 16 - offsetWidth : left + 16)}px`
  }, [left])
  const shown = series.filter(({ values }) => series.length <= 4 || values[i]! > 0)
  return (
    <div ref={note} class="ui-chart-note" aria-hidden="true">
      <strong>{dayText(days[i]!)}</strong>
      {days[i] === today && texts.soFar}
      <dl>
        {shown.map(({ name, colour, values }) => [
          <dt key={`${name} name`} style={{ '--colour': colourOf(colour) }}>
            {name}
          </dt>,
          <dd key={`${name} value`}>{number(values[i]!)}</dd>,
        ])}
        {line !== undefined && (
          <>
            <dt class="is-line">{line.name}</dt>
            <dd>{number(line.values[i]!)}</dd>
          </>
        )}
      </dl>
    </div>
  )
}

interface CanvasProps extends ChartProps {
  readonly height: number
  /** @param pointed undefined: none */
  readonly onPoint: (pointed: Pointed | undefined) => void
}

function Canvas({ days, series, line, isUtc, height, marks, onPoint }: CanvasProps) {
  const isMarks = marks !== undefined
  const canvas = useRef<HTMLDivElement>(null)
  const data = JSON.stringify([days, series, line])
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
        isMarks
          ? marksOf(Plot, element, { days, series, height, onPoint })
          : optionsOf(Plot, element, { days, series, line, isUtc, height, onPoint }),
        [
          days.map((day) => Date.parse(day) / 1_000),
          // A day without one has no mark.
          ...(isMarks ? series.map(({ values }) => values.map((value) => value || null)) : stackOf(series)),
          ...(line === undefined ? [] : [line.values, line.values]),
        ] as uPlot.AlignedData,
        element,
      )
    }
    void draw()
    const resized = new ResizeObserver(() => {
      if (chart !== undefined && element.clientWidth > 0) chart.setSize({ width: element.clientWidth, height })
    })
    resized.observe(element)
    dark.addEventListener('change', draw)
    return () => {
      isGone = true
      resized.disconnect()
      dark.removeEventListener('change', draw)
      chart?.destroy()
    }
  }, [data, height, isMarks])
  return <div class="ui-chart-canvas" ref={canvas} style={{ '--height': `${height}px` }} aria-hidden="true" />
}

/** Draws a stack from its top: each series as the sum of itself and those below. */
function stackOf(series: readonly ChartSeries[]): number[][] {
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
  { days, series, line, isUtc, height, onPoint }: Omit<CanvasProps, 'label' | 'dayTitle' | 'marks'>,
): uPlot.Options {
  const { colour, axis, base } = partsOf(Plot, element, { days, height, onPoint })
  const background = colour('--under') || colour('--bg')
  const bars = Plot.paths.bars!({ size: [0.72, 48], radius: series.length === 1 ? 0.12 : 0 })
  return {
    ...base,
    hooks: {
      ...base.hooks,
      // After the bars, and below the line.
      drawSeries:
        days.at(-1) === todayOf({ isUtc })
          ? [(chart, at) => at === series.length && hatchToday(chart, background)]
          : [],
    },
    scales: { ...base.scales, y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.05)] } },
    axes: [
      { ...axis, size: 28, grid: { show: false }, values: (_chart, ticks) => ticks.map(tickLabel) },
      {
        ...axis,
        size: 48,
        values: (_chart, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? shortNumber(tick) : '')),
      },
    ],
    series: [
      {},
      ...[...series].reverse().map(({ name, colour: index }) => {
        const stroke = colour(`--cat-${index}`)
        return { label: name, stroke, fill: stroke, width: 0, paths: bars, points: { show: false } }
      }),
      ...(line === undefined
        ? []
        : [
            // Parts the line from the bars below it.
            { label: '', stroke: background, width: 4, points: { show: false } },
            {
              label: line.name,
              stroke: colour('--ink-2'),
              width: 2,
              dash: [2, 5],
              cap: 'round' as const,
              points: { show: false },
            },
          ]),
    ],
  }
}

/** A mark on a line of days for each day with one. */
function marksOf(
  Plot: typeof uPlot,
  element: HTMLElement,
  { days, series, height, onPoint }: Pick<CanvasProps, 'days' | 'series' | 'height' | 'onPoint'>,
): uPlot.Options {
  const { colour, axis, base } = partsOf(Plot, element, { days, height, onPoint })
  return {
    ...base,
    scales: { ...base.scales, y: { range: () => [0, 2] } },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        border: { show: true, stroke: colour('--line-strong'), width: 1 },
        values: (_chart, ticks) => ticks.map(tickLabel),
      },
      { show: false },
    ],
    series: [
      {},
      ...series.map(({ name, colour: index }) => {
        const fill = colour(`--cat-${index}`)
        return { label: name, paths: () => null, points: { show: true, size: 9, fill, stroke: fill, width: 0 } }
      }),
    ],
  }
}

/** The frame of charts of bars and of marks. */
function partsOf(
  Plot: typeof uPlot,
  element: HTMLElement,
  { days, height, onPoint }: Pick<CanvasProps, 'days' | 'height' | 'onPoint'>,
) {
  const styles = getComputedStyle(element)
  const colour = (name: string) => styles.getPropertyValue(name).trim()
  const font = `12px ${styles.fontFamily}`
  const axis = { font, stroke: colour('--ink-3'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  const base = {
    width: element.clientWidth,
    height,
    tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1_000), 'UTC'),
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { show: false },
      // The line is at the day that the note is about.
      move: (chart, left, top) => [left < 0 ? left : chart.valToPos(chart.data[0][chart.posToIdx(left)]!, 'x'), top],
    },
    hooks: {
      setCursor: [
        ({ cursor, over }) => {
          const { idx, left = -1 } = cursor
          onPoint(idx === null || idx === undefined || left < 0 ? undefined : { i: idx, left: left + over.offsetLeft })
        },
      ],
    },
    scales: { x: { time: true, range: (_chart, min, max) => [min - halfSeconds(days), max + halfSeconds(days)] } },
  } satisfies Partial<uPlot.Options>
  return { colour, axis, base }
}

const HATCH_PX = 5

/** Stripes in the colour of the page over the last day. */
function hatchToday({ ctx, bbox, data, valToPos }: uPlot, background: string): void {
  const at = data[0].at(-1)
  if (at === undefined) return
  const from = Math.max(bbox.left, valToPos(at - DAY_SECONDS / 2, 'x', true))
  const to = Math.min(bbox.left + bbox.width, valToPos(at + DAY_SECONDS / 2, 'x', true))
  const { top, height } = bbox
  const step = HATCH_PX * devicePixelRatio
  ctx.save()
  ctx.beginPath()
  ctx.rect(from, top, to - from, height)
  ctx.clip()
  ctx.strokeStyle = background
  ctx.lineWidth = step / 2
  ctx.beginPath()
  for (let x = from - height; x < to; x += step) {
    ctx.moveTo(x, top + height)
    ctx.lineTo(x + height, top)
  }
  ctx.stroke()
  ctx.restore()
}

const DAY_SECONDS = 86_400

/** Half of the time between two bars, which are centred on their day. */
function halfSeconds([first, second]: readonly string[]): number {
  return second === undefined ? DAY_SECONDS / 2 : (Date.parse(second) - Date.parse(first!)) / 2_000
}

/** Ticks between two days have no label. */
function tickLabel(seconds: number): string {
  return seconds % DAY_SECONDS === 0 ? shortDay(utcDay(seconds * 1_000)) : ''
}
